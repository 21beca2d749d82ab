import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryDirectory } from "../../test/helpers/temporary-directory.ts";
import { createApp } from "./create-app.ts";
import { createProfileConfigs } from "./worker-directory.ts";

async function open(config: string) {
  const directory = await temporaryDirectory();
  const home = join(directory.path, "profiles", "coder");
  await mkdir(home, { recursive: true });
  const write = (text: string) => writeFile(join(home, "config.yaml"), text);
  await write(config);
  const app = await createApp({ environment: { HOLDFAST_HOME: directory.path }, cwd: "/" });
  return { ...directory, write, configs: createProfileConfigs(app) };
}

test("K4 a profile's worker block says what it runs", async () => {
  const text =
    'worker:\n  command: [codex, exec]\n  sandbox: profile\n  env: {A: "1"}\n  max_runtime: 1h30m\n  skills: [git]\n  vision: true\n';
  await using coder = await open(text);
  expect(await coder.configs.settingsOf("coder")).toEqual({
    command: ["codex", "exec"],
    sandbox: "profile",
    env: { A: "1" },
    maxRuntimeMs: 5_400_000,
    skills: ["git"],
    vision: true,
    acceptsFromSandboxes: false,
  });
});

test("K4 without a worker block there is no command, and a profile that is not there is none", async () => {
  await using coder = await open("");
  expect(await coder.configs.settingsOf("coder")).toMatchObject({ command: [], sandbox: "task", maxRuntimeMs: null });
  expect(await coder.configs.settingsOf("nobody")).toBeNull();
});

test("K26 a changed configuration counts at the next look, and a bad one is told", async () => {
  await using coder = await open("worker:\n  command: [one]\n");
  expect(await coder.configs.settingsOf("coder")).toMatchObject({ command: ["one"] });
  await coder.write("worker:\n  command: [another]\n");
  expect(await coder.configs.settingsOf("coder")).toMatchObject({ command: ["another"] });
  await coder.write("worker:\n  commando: [x]\n");
  await expect(coder.configs.settingsOf("coder")).rejects.toMatchObject({ code: "config-unknown-key" });
  await coder.write("worker:\n  max_runtime: soon\n");
  await expect(coder.configs.settingsOf("coder")).rejects.toMatchObject({ code: "config-bad-value" });
});
