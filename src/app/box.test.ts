import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { describeIf } from "../../test/helpers/requirements.ts";
import { type TemporaryDirectory, temporaryDirectory } from "../../test/helpers/temporary-directory.ts";
import { type Holdfast, openHoldfast } from "./open-holdfast.ts";

let directory: TemporaryDirectory;
const open = () =>
  openHoldfast({ environment: { HOLDFAST_HOME: join(directory.path, "home"), PATH: process.env.PATH }, cwd: directory.path });
let holdfast: Holdfast;

beforeEach(async () => {
  directory = await temporaryDirectory();
  holdfast = await open();
});
afterEach(async () => {
  await holdfast.sandboxes.remove("default", { force: true });
  await holdfast.close();
  await directory[Symbol.asyncDispose]();
});

describeIf("cc", "a box", () => {
  test("S36 starts processes and has all that can be done with them", async () => {
    const box = await holdfast.sandbox();
    const handle = await box.start("read -r a; echo got $a; read -r b; exit 5", { name: "reader", stdin: true });
    expect(await handle.info()).toMatchObject({ id: handle.id, name: "reader", state: "running", inputOpen: true });
    await handle.write("one\n");
    for await (const event of handle.watch({ patterns: [/^got (\w+)$/], from: 0 })) {
      expect(event).toMatchObject({ kind: "match", line: "got one" });
      break;
    }
    await handle.write("two\n", { end: true });
    expect(await handle.wait()).toEqual({ exitCode: 5, signal: null });
    const output: Uint8Array[] = [];
    for await (const { bytes } of handle.logs()) output.push(bytes);
    expect(Buffer.concat(output).toString()).toBe("got one\n");
    await expect(handle.signal("SIGHUP")).rejects.toMatchObject({ code: "process-ended" });
    await handle.remove();
    await expect(handle.info()).rejects.toMatchObject({ code: "process-not-found" });
  });

  test("S36 finds the processes of another, by id and by name, and ends them", async () => {
    const { id } = await (await holdfast.sandbox()).start("sleep 600", { name: "long" });
    await using other = await open();
    const box = await other.sandbox();
    expect(await box.processes.list()).toMatchObject([{ id, name: "long", command: "sleep 600" }]);
    for (const wanted of [id, id.slice(0, 5), "long"]) expect((await box.processes.get(wanted)).id).toBe(id);
    await expect(box.processes.get("nosuch")).rejects.toMatchObject({ code: "process-not-found" });
    // @ts-expect-error: what a program without types may pass
    await expect(box.processes.get(5)).rejects.toMatchObject({ code: "invalid-input", facts: { field: "process" } });
    const handle = await box.processes.get("long");
    const attachment = await handle.attach({ onOutput: () => {} });
    await handle.kill({ graceMs: 100 });
    expect(await attachment.ended).toEqual({ exitCode: 143, signal: "SIGTERM" });
  });

  test("has files", async () => {
    const { files } = await holdfast.sandbox();
    const path = join(directory.path, "inside/file");
    await files.write(path, "text", { mode: 0o600 });
    expect(Buffer.from(await files.read(path)).toString()).toBe("text");
    expect(await files.stat(path)).toMatchObject({ name: "file", kind: "file", mode: 0o600, size: 4 });
    await mkdir(join(directory.path, "tree"));
    await writeFile(join(directory.path, "tree/x"), "y");
    expect(await files.putTree(join(directory.path, "tree"), join(directory.path, "inside"))).toMatchObject({ bytes: 1, skipped: [] });
    expect((await files.list(join(directory.path, "inside"))).map(({ name }) => name).sort()).toEqual(["file", "x"]);
    expect(await readFile(join(directory.path, "inside/x"), "utf8")).toBe("y");
    await files.remove(join(directory.path, "inside"), { recursive: true });
    await expect(files.read(path)).rejects.toMatchObject({ code: "file-not-found" });
  });
});
