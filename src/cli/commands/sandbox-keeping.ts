/** @module holdfast sandbox up, stop, prune and explain: having a sandbox there, and knowing why it is. */
import type { Command } from "commander";
import { sandboxExplain } from "../../app/operations/sandbox-explain.ts";
import { sandboxPrune } from "../../app/operations/sandbox-prune.ts";
import { sandboxStop } from "../../app/operations/sandbox-stop.ts";
import { sandboxUp } from "../../app/operations/sandbox-up.ts";
import { DEFAULT_TASK } from "../../base/names.ts";
import { refuseFleeting } from "../needs-persistence.ts";
import type { Terminal } from "../render.ts";
import { addHelpNotes, addSubverb, type VerbRunner } from "../verb.ts";

export interface KeepingTools {
  readonly runner: VerbRunner;
  /** Asks a person before ending what still runs. */
  unlessBusy<T>(terminal: Terminal, force: boolean, work: (force: boolean) => Promise<T>): Promise<T>;
}

const EXIT_NOT_ALL = 1;

export function addKeepingVerbs(command: Command, { runner, unlessBusy }: KeepingTools): void {
  const up = addSubverb(command, "up", "make a sandbox, or start it")
    .argument("[task]", "the task it belongs to", DEFAULT_TASK)
    .option("--image <image>", "the task's own image, from now on")
    .option("--backend <name>", "the task's own backend, from now on")
    .action((task: string) =>
      runner.run(up, async ({ app, terminal, flags }) => {
        const { image, backend } = flags as { image?: string; backend?: string };
        if (backend === undefined) await refuseFleeting(app, task, "it");
        const result = await sandboxUp.run(app, { task, image, backend });
        if (flags.json) return terminal.json(result);
        const { sandbox, origin } = result;
        terminal.note(
          `the sandbox of task ${sandbox.task} runs on ${sandbox.backend}${origin === "created" ? ", just made" : ""}: ${sandbox.id}`,
        );
      }),
    );
  addHelpNotes(up, {
    examples: [
      ["holdfast sandbox up", "the first command finds it ready"],
      ["holdfast sandbox up build --image debian:trixie", "task build has this image, whatever is configured"],
    ],
  });

  const stop = addSubverb(command, "stop", "end what runs in a sandbox; its files stay, and the next use starts it")
    .argument("<task>", "the task it belongs to")
    .option("-f, --force", "also when something still runs in it")
    .action((task: string) =>
      runner.run(stop, async ({ app, terminal, flags }) => {
        const result = await unlessBusy(terminal, flags.force === true, (force) => sandboxStop.run(app, { task, force }));
        if (flags.json) return terminal.json(result);
        terminal.note(`the sandbox of task ${result.stopped.task} is stopped`);
      }),
    );
  addHelpNotes(stop, { examples: [["holdfast sandbox stop build", "asks first when something still runs in it"]] });

  const prune = addSubverb(command, "prune", "remove sandboxes that ended long ago, and what others have left behind")
    .option("-n, --dry-run", "only say what would go")
    .option("-a, --all", "of all profiles")
    .option("--files", "also the files that users of sandboxes that are gone left in home and workspace")
    .action(() =>
      runner.run(prune, async ({ app, terminal, flags }) => {
        const input = { all: flags.all === true, dryRun: flags.dryRun === true, files: flags.files === true };
        const result = await sandboxPrune.run(app, input);
        if (flags.json) terminal.json(result);
        else if (result.pruned.length === 0) terminal.note("there is nothing to remove");
        else {
          const done = (problem: string | null) => problem ?? (result.dryRun ? "would go" : "gone");
          terminal.table(
            ["WHAT", "WHY", "PROFILE", "RESULT"],
            result.pruned.map(({ what, why, profile, problem }) => [what, why, profile, done(problem)]),
          );
        }
        return result.pruned.some(({ problem }) => problem !== null) ? EXIT_NOT_ALL : 0;
      }),
    );
  addHelpNotes(prune, { examples: [["holdfast sandbox prune --dry-run", "look first"]] });

  const explain = addSubverb(command, "explain", "why a sandbox is kept, and when it goes")
    .argument("[task]", "the task it belongs to", DEFAULT_TASK)
    .action((task: string) =>
      runner.run(explain, async ({ app, terminal, flags }) => {
        const found = await sandboxExplain.run(app, { task });
        if (flags.json) return terminal.json(found);
        terminal.fact("task", found.task);
        terminal.fact("sandbox", found.sandbox ? `${found.sandbox.id}, ${found.sandbox.state}, on ${found.backend}` : "none");
        terminal.fact("why", found.why);
        for (const sentence of found.goes) terminal.fact("goes", sentence);
        terminal.fact("stays", found.stays);
        for (const [key, value] of Object.entries(found.chosen)) terminal.fact("chosen by the task", `${key} = ${value}`);
        for (const line of found.history) terminal.fact("before", line);
      }),
    );
  addHelpNotes(explain, { examples: [["holdfast sandbox explain build", "also what became of earlier ones"]] });
}
