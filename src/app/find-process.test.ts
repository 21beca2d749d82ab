import { describe, expect, test } from "vitest";
import type { ProcessInfo } from "../sandbox/process.ts";
import { pickProcess } from "./find-process.ts";

function info(id: string, name = "", state: ProcessInfo["state"] = "running"): ProcessInfo {
  return {
    id,
    name,
    command: "sleep 1",
    pid: 1,
    state,
    exitCode: state === "ended" ? 0 : null,
    signal: null,
    tty: false,
    inputOpen: false,
    startedAt: 0,
    endedAt: null,
    outputBytes: 0,
  };
}

const list = [
  info("p_11111111", "web", "ended"),
  info("p_11222222", "web"),
  info("p_33333333", "p_11111111"),
  info("p_abcdef01", "job", "ended"),
  info("p_abcdef02", "job", "ended"),
  info("p_44444444", "abc"),
  info("p_55555555", "twin"),
  info("p_66666666", "twin"),
];

describe("a process is found by", () => {
  test.each([
    ["its id, before a name that looks like one", "p_11111111", "p_11111111"],
    ["the beginning of its id", "p_3", "p_33333333"],
    ["the beginning of its id without p_", "33", "p_33333333"],
    ["its name, when only one that runs has it", "web", "p_11222222"],
    ["its name, which is the newest's when none runs", "job", "p_abcdef02"],
    ["its name, before the beginning of another's id", "abc", "p_44444444"],
  ])("%s", (_, wanted, id) => {
    expect(pickProcess(list, wanted).id).toBe(id);
  });

  test.each([
    ["p_11", ["p_11111111", "p_11222222"]],
    ["twin", ["p_55555555", "p_66666666"]],
  ])("%s only if no other fits", (wanted, ids) => {
    expect(() => pickProcess(list, wanted)).toThrow(expect.objectContaining({ code: "invalid-input", facts: { process: wanted, ids } }));
  });

  test.each([["p_"], [""], ["p_9"], ["we"]])("nothing that does not fit: %j", (wanted) => {
    expect(() => pickProcess(list, wanted)).toThrow(expect.objectContaining({ code: "process-not-found" }));
  });
});

test("a name that is not there gets the one that was probably meant", () => {
  expect(() => pickProcess(list, "wbe")).toThrow(expect.objectContaining({ hint: 'did you mean "web"?' }));
});
