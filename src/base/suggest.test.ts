import { describe, expect, test } from "vitest";
import { didYouMean, editDistance, suggest } from "./suggest.ts";

describe("edit distance", () => {
  test.each([
    ["", "", 0],
    ["abc", "abc", 0],
    ["", "abc", 3],
    ["abc", "", 3],
    ["kitten", "sitting", 3],
    ["timeout", "timoeut", 1],
    ["timeout", "timeuot", 1],
    ["backend", "bakcned", 2],
  ])("%s → %s is %i", (a, b, distance) => {
    expect(editDistance(a, b)).toBe(distance);
  });
});

describe("suggest", () => {
  const verbs = ["exec", "session", "sandbox", "config", "doctor", "profile"];

  test("finds the nearest name, whatever its case", () => {
    expect(suggest("sanbdox", verbs)).toBe("sandbox");
    expect(suggest("CONFIG", verbs)).toBe("config");
    expect(suggest("profiel", verbs)).toBe("profile");
    expect(suggest("exce", verbs)).toBe("exec");
  });

  test("stays silent when nothing is near", () => {
    expect(suggest("frobnicate", verbs)).toBeUndefined();
    expect(suggest("", verbs)).toBeUndefined();
    expect(suggest("ls", ["up", "rm"])).toBeUndefined();
    expect(suggest("exec", [])).toBeUndefined();
  });

  test("of several near names the nearest wins", () => {
    expect(suggest("container_memry", ["container_disk", "container_memory"])).toBe("container_memory");
  });

  test("didYouMean makes a sentence of it", () => {
    expect(didYouMean("confg", verbs)).toBe('did you mean "config"?');
    expect(didYouMean("zzzzzz", verbs)).toBeUndefined();
  });
});
