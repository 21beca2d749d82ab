import { execFileSync } from "node:child_process";
import { mkdir, readdir, rename, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { temporaryDirectory } from "../../test/helpers/temporary-directory.ts";
import { systemClock } from "../base/clock.ts";
import { createLogger, type LogRecord, silentLogger } from "../base/log.ts";
import { forgetTaskSettings, listTaskSettings, readTaskSettings, settingsFor, writeTaskSettings } from "./task-settings.ts";

async function home(): Promise<string> {
  const place = await temporaryDirectory();
  onTestFinished(() => place[Symbol.asyncDispose]());
  return place.path;
}

describe("S45 what a task names for itself", () => {
  test.each([
    [
      { backend: "docker", image: "debian" },
      { "terminal.backend": "docker", "terminal.docker_image": "debian" },
    ],
    [{ backend: "docker" }, { "terminal.backend": "docker" }],
    [{ image: "debian" }, { "terminal.docker_image": "debian" }],
    [
      { backend: "modal", image: "debian" },
      { "terminal.backend": "modal", "terminal.modal_image": "debian" },
    ],
    [
      { backend: "apptainer", image: "a.sif" },
      { "terminal.backend": "apptainer", "terminal.singularity_image": "a.sif" },
    ],
    [{}, {}],
  ])("%j becomes settings of the backend it is on", (choice, settings) => {
    expect(settingsFor(choice, "docker")).toEqual(settings);
  });

  test("an image on a backend that has none is refused", () => {
    expect(() => settingsFor({ image: "debian" }, "local")).toThrow("the local backend has no images");
    expect(() => settingsFor({ image: "debian", backend: "local" }, "docker")).toThrow(
      expect.objectContaining({ code: "invalid-input", facts: { backend: "local", image: "debian" } }),
    );
    // That this is no backend is for the configuration to say.
    expect(settingsFor({ image: "debian", backend: "constructor" }, "docker")).toEqual({ "terminal.backend": "constructor" });
  });
});

describe("S45 settings of tasks", () => {
  test("are read by every process, until they are forgotten", async () => {
    const where = await home();
    const build = { task: "build", settings: { "terminal.docker_image": "debian" } };
    expect(readTaskSettings(where, "build")).toBeNull();
    expect(listTaskSettings(where, { log: silentLogger })).toEqual([]);
    await writeTaskSettings(where, { ...build, settings: { "terminal.backend": "local" } });
    await writeTaskSettings(where, build);
    expect(readTaskSettings(where, "build")).toMatchObject(build);
    expect(readTaskSettings(where, "other")).toBeNull();
    const [name = ""] = await readdir(join(where, "tasks"));
    expect((await stat(join(where, "tasks", name))).mode & 0o777).toBe(0o600);
    await forgetTaskSettings(where, "build");
    await forgetTaskSettings(where, "build");
    expect(readTaskSettings(where, "build")).toBeNull();
    expect(await readdir(join(where, "tasks"))).toEqual([]);
  });

  test("of tasks whose names differ little are kept apart, and all are listed", async () => {
    const where = await home();
    const tasks = ["Build", "build", "bui/ld", "bui_ld", "..", "a b", "ü".repeat(80)];
    for (const task of tasks) await writeTaskSettings(where, { task, settings: { "terminal.docker_image": task } });
    expect(tasks.map((task) => readTaskSettings(where, task)?.settings["terminal.docker_image"])).toEqual(tasks);
    expect(new Set(listTaskSettings(where, { log: silentLogger }).map(({ task }) => task))).toEqual(new Set(tasks));
  });

  test.each([["{"], ["null"], ['{"version":2,"task":"build","settings":{}}'], ['{"version":1,"task":"build","settings":{"a":1}}']])(
    "that cannot be read are an error that names the file: %s",
    async (text) => {
      const where = await home();
      await writeTaskSettings(where, { task: "build", settings: {} });
      const path = join(where, "tasks", (await readdir(join(where, "tasks")))[0] ?? "");
      await writeFile(path, text);
      const unreadable = expect.objectContaining({ code: "state-unreadable", message: expect.stringContaining(path) });
      expect(() => readTaskSettings(where, "build")).toThrow(unreadable);
    },
  );

  test("are nothing else that lies in their directory", async () => {
    const where = await home();
    await mkdir(join(where, "tasks"));
    await writeFile(join(where, "tasks/notes.txt"), "mine");
    expect(listTaskSettings(where, { log: silentLogger })).toEqual([]);
  });

  test("of another task, in a file that has this one's name, are refused and send it nowhere", async () => {
    const where = await home();
    await writeTaskSettings(where, { task: "other", settings: { "terminal.backend": "local" } });
    const [others = ""] = await readdir(join(where, "tasks"));
    await writeTaskSettings(where, { task: "build", settings: {} });
    const own = (await readdir(join(where, "tasks"))).find((name) => name !== others) ?? "";
    await rename(join(where, "tasks", others), join(where, "tasks", own));
    const refused = { code: "state-unreadable", message: expect.stringMatching(/it is of task "other"$/) };
    expect(() => readTaskSettings(where, "build")).toThrow(expect.objectContaining(refused));
  });

  test("that cannot be read are told, waited for by nobody, and hide no others in the list", async () => {
    const where = await home();
    const build = { task: "build", settings: { "terminal.backend": "local" } };
    await writeTaskSettings(where, build);
    execFileSync("mkfifo", [join(where, "tasks/a-pipe.json")]);
    await mkdir(join(where, "tasks/b-directory.json"));
    await writeFile(join(where, "tasks/z-damaged.json"), "{");
    const logged: LogRecord[] = [];
    const log = createLogger({ clock: systemClock, level: "warn", sink: (record) => logged.push(record) });
    expect(listTaskSettings(where, { log })).toMatchObject([build]);
    const told = logged.map(({ message }) => message).sort();
    expect(told).toEqual([
      expect.stringMatching(/tasks\/z-damaged\.json does not hold the settings of a task: /),
      expect.stringMatching(/cannot read .*tasks\/a-pipe\.json: it is not a regular file/),
      expect.stringMatching(/cannot read .*tasks\/b-directory\.json: it is a directory/),
    ]);
  });
});
