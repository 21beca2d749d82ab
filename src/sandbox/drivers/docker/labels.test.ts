import { describe, expect, test } from "vitest";
import { createLabels, labelValue } from "./labels.ts";

const owner = { install: "i1", profile: "default", task: "t_1" };
const facts = {
  fingerprint: "f".repeat(32),
  version: "1.2.3",
  keepFiles: true,
  persist: true,
  weakened: [],
  daemon: true,
  createdAt: 1_700_000_000_123,
};
const labels = createLabels("holdfast");
const foreign = createLabels("hermes");
const madeByHermes = { "hermes-agent": "1", "hermes-task-id": "a_b", "hermes-profile": "default" };

test("S12 a container says whose it is, what it was made from and when", () => {
  expect(labels.of(owner, facts)).toEqual({
    "holdfast-agent": "1",
    "holdfast-task-id": "t_1",
    "holdfast-profile": "default",
    "holdfast-install": "i1",
    "holdfast-owner": '{"profile":"default","task":"t_1"}',
    "holdfast-spec": "f".repeat(32),
    "holdfast-version": "1.2.3",
    "holdfast-files": "keep",
    "holdfast-lifetime": "persist",
    "holdfast-weakened": "[]",
    "holdfast-daemon": "holdfastd",
    "holdfast-created": "1700000000123",
  });
  expect(labels.of(owner, { ...facts, keepFiles: false })["holdfast-files"]).toBe("drop");
  expect(labels.of(owner, { ...facts, persist: false })["holdfast-lifetime"]).toBe("process");
  expect(labels.of(owner, { ...facts, weakened: ["--privileged"] })["holdfast-weakened"]).toBe('["--privileged"]');
  expect(labels.of(owner, { ...facts, daemon: false })["holdfast-daemon"]).toBe("none");
  expect(Object.keys(foreign.of(owner, facts)).every((name) => name.startsWith("hermes-"))).toBe(true);
});

test.each([
  ["t_1", "t_1"],
  ["a/b c:ü", "a_b_c__"],
  ["A.b-c_9", "A.b-c_9"],
  ["emoji-😀-here", "emoji-_-here"],
  ["task/with:weird*chars", "task_with_weird_chars"],
  ["😀".repeat(70), "_".repeat(63)],
  ["x".repeat(100), "x".repeat(63)],
  ["", "unknown"],
  [undefined, "unknown"],
])("S12 the label value of %j is %j", (text, value) => expect(labelValue(text)).toBe(value));

describe("S12 the owner of a container", () => {
  const of = (changes: Partial<typeof owner>) => labels.of({ ...owner, ...changes }, facts);

  test("is known exactly, also when names have the same label", () => {
    const [one, other] = ["a b", "a:b"].map((task) => of({ task }));
    expect(one?.["holdfast-task-id"]).toBe(other?.["holdfast-task-id"]);
    expect(labels.ownerOf(one ?? {}, { install: "i1" })).toEqual({ ...owner, task: "a b" });
    expect(labels.ownerOf(one ?? {}, { install: "i1", task: "a b" })).toEqual({ ...owner, task: "a b" });
    expect(labels.ownerOf(one ?? {}, { install: "i1", task: "a:b" })).toBeNull();
    expect(labels.ownerOf(of({ profile: "q" }), { install: "i1", profile: "default" })).toBeNull();
  });

  test("is nobody of ours for another install, without our labels, or with a label that was tampered with", () => {
    expect(labels.ownerOf(of({}), { install: "i2" })).toBeNull();
    expect(labels.ownerOf({}, { install: "i1" })).toBeNull();
    const { "holdfast-agent": agent, ...rest } = of({});
    expect([agent, labels.ownerOf(rest, { install: "i1" })]).toEqual(["1", null]);
    const { "holdfast-install": install, ...unowned } = of({});
    expect([install, labels.ownerOf(unowned, { install: "i1" })]).toEqual(["i1", null]);
    for (const text of ["", "{", "null", "[]", '{"profile":1,"task":"x"}', '{"profile":"default"}'])
      expect(labels.ownerOf({ ...of({}), "holdfast-owner": text }, { install: "i1" })).toBeNull();
  });

  test("of a container that another system made is whoever asks for it by its prefix", () => {
    expect(foreign.ownerOf(madeByHermes, { install: "i1" })).toEqual({ install: "i1", profile: "default", task: "a_b" });
    expect(foreign.ownerOf(madeByHermes, { install: "i1", task: "a/b" })).toEqual({ install: "i1", profile: "default", task: "a/b" });
    expect(foreign.ownerOf(madeByHermes, { install: "i1", task: "c" })).toBeNull();
    expect(foreign.ownerOf(madeByHermes, { install: "i1", profile: "q" })).toBeNull();
    expect(foreign.ownerOf(foreign.of(owner, facts), { install: "i2" })).toBeNull();
    expect(foreign.ownerOf(foreign.of(owner, facts), { install: "i1", task: "t_1" })).toEqual(owner);
    expect(labels.ownerOf(madeByHermes, { install: "i1" })).toBeNull();
    expect(foreign.ownerOf({ "hermes-agent": "1" }, { install: "i1" })).toBeNull();
  });
});

test("S12 the search begins with the install, except under the prefix of another system", () => {
  const filters = (wanted: string[]) => wanted.flatMap((label) => ["--filter", `label=${label}`]);
  expect(labels.filterArgs({ install: "i1" })).toEqual(filters(["holdfast-install=i1", "holdfast-agent=1"]));
  expect(labels.filterArgs({ ...owner, task: "a b" })).toEqual(
    filters(["holdfast-install=i1", "holdfast-agent=1", "holdfast-task-id=a_b", "holdfast-profile=default"]),
  );
  expect(foreign.filterArgs(owner)).toEqual(filters(["hermes-agent=1", "hermes-task-id=t_1", "hermes-profile=default"]));
});

test("facts are read back, and those that are not stated are null", () => {
  expect(labels.factsOf(labels.of(owner, facts))).toEqual(facts);
  expect(labels.factsOf(labels.of(owner, { ...facts, keepFiles: false })).keepFiles).toBe(false);
  expect(foreign.factsOf(madeByHermes)).toEqual({
    fingerprint: null,
    version: null,
    keepFiles: null,
    persist: null,
    weakened: [],
    daemon: null,
    createdAt: null,
  });
  for (const text of ["", "-1", "1e3", "soon", "9".repeat(20)])
    expect(labels.factsOf({ "holdfast-created": text, "holdfast-files": "toString" })).toMatchObject({ createdAt: null, keepFiles: null });
});

test("S15 S16 the name of a container follows from its owner alone", () => {
  const name = labels.containerName(owner);
  expect(name).toMatch(/^holdfast-[0-9a-f]{16}$/);
  expect(labels.containerName({ ...owner })).toBe(name);
  const others = [
    labels.containerName({ ...owner, install: "i2" }),
    labels.containerName({ ...owner, profile: "q" }),
    labels.containerName({ ...owner, task: "t_2" }),
    labels.containerName({ install: "i1", profile: "defaultt", task: "_1" }),
    foreign.containerName(owner),
  ];
  expect(new Set([name, ...others]).size).toBe(6);
});
