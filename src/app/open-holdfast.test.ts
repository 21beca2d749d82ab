import { expect, test } from "vitest";
import { temporaryDirectory } from "../../test/helpers/temporary-directory.ts";
import { openHoldfast } from "./open-holdfast.ts";

/** What a program in JavaScript may pass although no compiler would let it. */
// biome-ignore lint/suspicious/noExplicitAny: being unchecked is the point.
type Unchecked = any;

async function open(more: Unchecked = {}) {
  return openHoldfast({ environment: { HOLDFAST_HOME: "/nonexistent/holdfast" }, ...more });
}

test.each([
  ["profile", { profile: 5 }],
  ["config", { config: "terminal.timeout" }],
  ['config["terminal.timeout"]', { config: { "terminal.timeout": 5n } }],
  ['config["terminal.cwd"]', { config: { "terminal.cwd": () => "/" } }],
  ["environment", { environment: { PATH: 5 } }],
  ["cwd", { cwd: 5 }],
  ["onLog", { onLog: true }],
  ["debug", { debug: "yes" }],
])("opening refuses a wrong type by its name: %s", async (field, options) => {
  await expect(open(options)).rejects.toMatchObject({ code: "invalid-input", facts: { field } });
});

test("calls refuse a wrong type by its name, and options may not be null", async () => {
  await using directory = await temporaryDirectory();
  await using holdfast = await open({ environment: { HOLDFAST_HOME: directory.path, PATH: process.env.PATH }, cwd: directory.path });
  const refused = (field: string) => expect.objectContaining({ code: "invalid-input", facts: expect.objectContaining({ field }) });
  const unchecked = holdfast as Unchecked;
  for (const task of [null, 5]) await expect(unchecked.sandbox(task)).rejects.toEqual(refused("task"));
  await expect(unchecked.endTurn(5)).rejects.toEqual(refused("task"));
  await expect(unchecked.sandboxes.inspect(5)).rejects.toEqual(refused("task"));
  await expect(unchecked.sandboxes.remove("x", { force: 1 })).rejects.toEqual(refused("force"));
  await expect(unchecked.config.get(null)).rejects.toEqual(refused("key"));

  const box: Unchecked = await holdfast.sandbox();
  for (const command of [null, 5, {}, ["a", 5]]) await expect(box.run(command)).rejects.toEqual(refused("command"));
  await expect(box.run("true", null)).rejects.toEqual(refused("options"));
  await expect(box.run("true", { env: { A: 5 } })).rejects.toEqual(refused("env.A"));
  for (const field of ["cwd", "session", "stdin", "env", "merge", "onOutput", "signal", "overflowFile"]) {
    await expect(box.run("true", { [field]: 5 })).rejects.toEqual(refused(field));
  }
  await expect(box.run("true", { timeoutMs: "5" })).rejects.toEqual(refused("timeoutMs"));
  await expect(box.sessions.remove(5)).rejects.toEqual(refused("session"));
  await holdfast.sandboxes.remove("default");
});
