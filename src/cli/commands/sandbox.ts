/** @module holdfast sandbox: what exists, and how to be rid of it. */
import { sandboxInspect } from "../../app/operations/sandbox-inspect.ts";
import { sandboxList, sandboxListAll } from "../../app/operations/sandbox-list.ts";
import { sandboxRemove } from "../../app/operations/sandbox-remove.ts";
import { sandboxReset } from "../../app/operations/sandbox-reset.ts";
import type { ListedSandbox, SandboxDetails } from "../../app/results.ts";
import { HoldfastError } from "../../base/errors.ts";
import { DEFAULT_TASK } from "../../base/names.ts";
import type { DaemonStatus } from "../../sandbox/daemon/status.ts";
import type { SandboxDescription } from "../../sandbox/driver.ts";
import type { Terminal } from "../render.ts";
import { addHelpNotes, addSubverb, type RegisterVerb } from "../verb.ts";
import { addKeepingVerbs } from "./sandbox-keeping.ts";

const EXIT_NOT_ALL = 1;
const FILES_HELP = "also the files in its home and workspace, which otherwise stay for the next one";

export const register: RegisterVerb = (command, { runner }) => {
  addHelpNotes(command.usage("[options] <verb>"), {
    examples: [
      ["holdfast sandbox ls", "what exists"],
      ["holdfast sandbox inspect", "what is in the sandbox of task default"],
      ["holdfast sandbox explain build", "why the one of task build is kept, and when it goes"],
      ["holdfast sandbox rm build", "remove it"],
    ],
  });

  const list = addSubverb(command, "ls", "list the sandboxes of the profile on its backend")
    .alias("list")
    .option("-a, --all", "those of all profiles, on all backends")
    .action(() =>
      runner.run(list, async ({ app, terminal, flags }) => {
        if (flags.all !== true) {
          const sandboxes = await sandboxList.run(app, { all: false });
          if (flags.json) terminal.json(sandboxes);
          else showList(sandboxes, terminal);
          return 0;
        }
        const { sandboxes, unlisted } = await sandboxListAll.run(app, {});
        if (flags.json) terminal.json({ sandboxes, unlisted });
        else {
          showList(sandboxes, terminal);
          for (const { profile, backend, reason } of unlisted)
            terminal.warn(`what profile ${profile} has${backend === null ? "" : ` on the ${backend} backend`} is not listed: ${reason}`);
        }
        return unlisted.length > 0 ? EXIT_NOT_ALL : 0;
      }),
    );
  addHelpNotes(list, {
    examples: [
      ["holdfast sandbox ls --all", "every sandbox of this installation"],
      ["holdfast sandbox ls --all --json", "{sandboxes, unlisted}; unlisted says which profile or backend could not be asked, and why"],
    ],
    exit: [
      ["0", "all of them are listed"],
      ["1", "--all: a profile or backend could not be asked, the rest is listed; or Holdfast failed; the message says why"],
      ["2", "the command line was not understood"],
    ],
  });

  const inspect = addSubverb(command, "inspect", "show one sandbox")
    .argument("[task]", "the task it belongs to", DEFAULT_TASK)
    .action((task: string) =>
      runner.run(inspect, async ({ app, terminal, flags }) => {
        const found = await sandboxInspect.run(app, { task });
        if (flags.json) return terminal.json(found);
        showFacts(found, terminal);
      }),
    );
  addHelpNotes(inspect, { examples: [["holdfast sandbox inspect build", "sessions, running processes, fingerprint"]] });

  addKeepingVerbs(command, { runner, unlessBusy });

  const remove = addSubverb(command, "rm", "remove a sandbox: its processes and sessions")
    .alias("remove")
    .argument("<task>", "the task it belongs to")
    .option("-f, --force", "also when something still runs in it")
    .option("--files", FILES_HELP)
    .action((task: string) =>
      runner.run(remove, async ({ app, terminal, flags }) => {
        const files = flags.files === true;
        const { removed, kept } = await unlessBusy(terminal, flags.force === true, (force) =>
          sandboxRemove.run(app, { task, force, files }),
        );
        if (flags.json) return terminal.json({ removed, kept });
        const gone = removed
          ? `the sandbox of task ${removed.task} is gone`
          : `task ${task} had no sandbox; what earlier ones left, and its own settings, are gone`;
        terminal.note(kept.length === 0 ? gone : `${gone}; the files in ${kept.join(" and ")} stay (--files removes them as well)`);
      }),
    );
  addHelpNotes(remove, {
    examples: [
      ["holdfast sandbox rm build", "asks first when something still runs in it"],
      ["holdfast sandbox rm build --files", "with all that is in its home and workspace"],
    ],
  });

  const reset = addSubverb(command, "reset", "remove a sandbox and make a fresh one")
    .argument("<task>", "the task it belongs to")
    .option("-f, --force", "also when something still runs in it")
    .option("--files", FILES_HELP)
    .action((task: string) =>
      runner.run(reset, async ({ app, terminal, flags }) => {
        const files = flags.files === true;
        const result = await unlessBusy(terminal, flags.force === true, (force) => sandboxReset.run(app, { task, force, files }));
        if (flags.json) return terminal.json(result);
        const fresh = `task ${result.made.task} has a fresh sandbox`;
        terminal.note(
          result.kept.length === 0 ? fresh : `${fresh}, with the files in ${result.kept.join(" and ")} (--files removes them first)`,
        );
      }),
    );
  addHelpNotes(reset, {
    examples: [
      ["holdfast sandbox reset default", "a fresh one, with the files of its home and workspace"],
      ["holdfast sandbox reset default --files", "begin again from nothing"],
    ],
  });
};

function showList(sandboxes: readonly ListedSandbox[], terminal: Terminal): void {
  const rows = sandboxes.map(({ task, profile, backend, state, createdAt, why, id }) => [
    ...[task, profile, backend, state, createdAt, why],
    // As engines show them; all of it is in the JSON.
    /^[0-9a-f]{64}$/.test(id) ? id.slice(0, 12) : id,
  ]);
  terminal.table(["TASK", "PROFILE", "BACKEND", "STATE", "CREATED", "KEPT", "ID"], rows);
}

/** Asks a person before ending what still runs; without one, the refusal stands. */
async function unlessBusy<T>(terminal: Terminal, force: boolean, work: (force: boolean) => Promise<T>): Promise<T> {
  try {
    return await work(force);
  } catch (error) {
    if (!HoldfastError.isInstance(error) || error.code !== "busy" || !terminal.interactive) throw error;
    const answer = await terminal.ask(`${error.message}. End it and go on? [y/N]`);
    if (!/^y(es)?$/i.test(answer)) throw error;
    return work(true);
  }
}

function showFacts(found: SandboxDetails, terminal: Terminal): void {
  const { id, backend, profile, task, state, createdAt, fingerprint, description, drift, sessions, processes, use } = found;
  for (const [name, value] of Object.entries({ id, backend, profile, task, state, createdAt, fingerprint })) terminal.fact(name, value);
  if (description) showDescription(description, terminal);
  terminal.fact(
    "configuration",
    drift.length === 0
      ? "as it was made"
      : `changed since it was made: ${drift.map(({ setting, made, wanted }) => `${setting} (made with: ${made}; now: ${wanted})`).join(", ")}`,
  );
  const names = sessions?.map(({ name, cwd }) => `${name} in ${cwd}`).join(", ");
  terminal.fact("sessions", names === undefined ? "not to be seen while it is stopped" : names || "none");
  const running = processes?.map(({ pid, command: name }) => `${name} (${pid})`).join(", ");
  terminal.fact("processes", running === undefined ? "unknown" : running || "none");
  if (use) showUse(use, terminal);
}

function showDescription({ status, image, limits, weakened }: SandboxDescription, terminal: Terminal): void {
  terminal.fact("status", status);
  if (image !== null) terminal.fact("image", image);
  const inForce = Object.entries(limits).map(([name, value]) => `${name} ${value}`);
  terminal.fact("limits in force", inForce.join(", "));
  terminal.fact("hardening weakened by", weakened.join(" ") || "nothing");
}

function showUse({ leases, calls, processes, ptys, lastUsedFor, idleStopSeconds }: DaemonStatus, terminal: Terminal): void {
  terminal.fact("used by", leases.map(({ label }) => label).join(", ") || "nobody else");
  terminal.fact("running", `calls: ${calls}, background processes: ${processes}, terminals: ${ptys}`);
  terminal.fact("last used for", lastUsedFor || "nothing yet");
  terminal.fact("stops by itself", idleStopSeconds === 0 ? "never" : `after ${idleStopSeconds} s without use`);
}
