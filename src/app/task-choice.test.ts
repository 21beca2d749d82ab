import { expect, onTestFinished, test } from "vitest";
import { temporaryDirectory } from "../../test/helpers/temporary-directory.ts";
import { type Holdfast, openHoldfast } from "./open-holdfast.ts";

/** Each is another program on the same installation. */
async function programs(): Promise<() => Promise<Holdfast>> {
  const place = await temporaryDirectory();
  const opened: Holdfast[] = [];
  onTestFinished(async () => {
    for (const hf of opened) await hf.close();
    await place[Symbol.asyncDispose]();
  });
  const environment = { PATH: process.env.PATH, HOME: place.path, HOLDFAST_HOME: place.path, TERMINAL_BACKEND: "memory" };
  return async () => {
    const hf = await openHoldfast({ environment, cwd: place.path });
    opened.push(hf);
    return hf;
  };
}

test("S45 a program names a task's backend before its first call, and every other program comes to the same sandbox", async () => {
  const open = await programs();
  const first = await open();
  const box = await first.sandbox("build", { backend: "local" });
  await box.run("export A=1");
  const second = await open();
  expect((await (await second.sandbox("build")).run("echo $A")).stdout).toBe("1\n");
  expect((await (await second.sandbox("build", { backend: "local" })).run("echo $A")).stdout).toBe("1\n");
  expect(await second.sandboxes.explain("build")).toMatchObject({ backend: "local", chosen: { "terminal.backend": "local" } });
  expect(await second.sandboxes.explain()).toMatchObject({ backend: "memory", chosen: {}, sandbox: null });
  expect(await second.sandboxes.list()).toMatchObject([{ task: "build", backend: "local" }]);
  await second.sandboxes.remove("build");
  expect(await first.sandboxes.explain("build")).toMatchObject({
    backend: "memory",
    chosen: {},
    history: [expect.stringContaining("removed")],
  });
});

test("S45 a choice that comes too late, or is none, is refused and changes nothing", async () => {
  const hf = await (await programs())();
  await hf.sandbox("late");
  await expect(hf.sandbox("late", { backend: "local" })).rejects.toMatchObject({ code: "invalid-input", facts: { task: "late" } });
  await expect(hf.sandbox("t", { image: "debian" })).rejects.toMatchObject({ code: "invalid-input" });
  await expect(hf.sandbox("t", { backend: "nosuch" })).rejects.toMatchObject({ code: "config-bad-value" });
  await expect(hf.sandbox("t", { backend: 3 } as never)).rejects.toMatchObject({ code: "invalid-input" });
  for (const task of ["late", "t"]) expect(await hf.sandboxes.explain(task)).toMatchObject({ backend: "memory", chosen: {} });
});
