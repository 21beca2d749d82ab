/** @module holdfast kanban dispatch: puts profiles to work. */
import type { App } from "../../app/create-app.ts";
import { openDispatching } from "../../app/dispatching.ts";
import { dispatchOnce } from "../../app/operations/dispatch-once.ts";
import { aborted } from "../../base/abort.ts";
import { systemClock } from "../../base/clock.ts";
import { describeError, HoldfastError } from "../../base/errors.ts";
import { firstLine } from "../../base/first-line.ts";
import { createLogger } from "../../base/log.ts";
import { describeResult } from "../../dispatcher/describe-result.ts";
import type { DispatchResult } from "../../dispatcher/result.ts";
import { interruptible } from "../interruptible.ts";
import type { Terminal } from "../render.ts";
import { numberFor } from "../values.ts";
import { addHelpNotes, type HelpNotes, type RegisterVerb, type VerbInvocation } from "../verb.ts";
import { kanbanVerb } from "./kanban-verb.ts";
import { createWorkersLeft } from "./workers-left.ts";

const DISPATCH_EXIT: HelpNotes["exit"] = [
  ["0", "the board was looked over, also if nothing could be started or another dispatcher leads it"],
  ["1", "Holdfast failed; the message says why"],
  ["2", "the command line was not understood"],
  ["130", "with --watch: ended by Ctrl-C; 143 by TERM"],
];

export const registerDispatch: RegisterVerb = (command, { runner }) => {
  const dispatch = kanbanVerb(command, "dispatch", "look over the board: end what must end, start workers for what is ready")
    .option("--dry-run", "say what would happen, and change nothing")
    .option("--max <n>", "start at most so many workers", numberFor("--max", { whole: true, example: "2" }))
    .option(
      "--failure-limit <n>",
      "block a task after so many failures in a row, in place of kanban.failure_limit",
      numberFor("--failure-limit", { least: 1, whole: true, example: "3" }),
    )
    .option("--watch", "go on until Ctrl-C, on all boards; workers then stay")
    .action(() =>
      runner.run(dispatch, async (invocation) => {
        const { app, terminal, flags } = invocation;
        if (flags.watch === true) {
          refuseUnkept(flags);
          return await watch(invocation);
        }
        const input = {
          board: flags.board as string | undefined,
          dryRun: flags.dryRun === true,
          max: flags.max as number | undefined,
          failureLimit: flags.failureLimit as number | undefined,
        };
        const result = await dispatchOnce.run(app, input);
        const lines = describeResult(result, { dryRun: input.dryRun, errors: await startErrors(app, result) });
        if (flags.json) terminal.json(result);
        else for (const line of lines) terminal.line(line);
        if (!flags.json && lines.length === 0) terminal.note("there was nothing to do");
        return 0;
      }),
    );
  addHelpNotes(dispatch, {
    examples: [
      ["holdfast kanban dispatch --watch", "put profiles to work until Ctrl-C"],
      ["holdfast kanban dispatch --dry-run", "who would get what, and who would not"],
      ["holdfast kanban dispatch --watch --json", "one object per line for each pass that did something"],
    ],
    exit: DISPATCH_EXIT,
  });
};

/** What is for one look at one board. Who asks for a dry run and gets workers has been let down. */
function refuseUnkept({ dryRun, max, board }: VerbInvocation["flags"]): void {
  const together = (flag: string) => `--watch and ${flag} cannot be given together`;
  const hint = "leave out --watch to look once, or the other one to go on, on all boards";
  if (dryRun === true) throw new HoldfastError("usage", together("--dry-run"), { hint });
  if (max !== undefined)
    throw new HoldfastError("usage", together("--max"), { hint: `${hint}; kanban.max_spawn limits what runs at once` });
  if (board !== undefined) throw new HoldfastError("usage", together("--board"), { hint });
}

async function watch({ app, terminal, flags }: VerbInvocation): Promise<number> {
  const log = createLogger({
    clock: systemClock,
    level: flags.debug ? "debug" : "info",
    sink: (record) =>
      flags.debug ? terminal.log(record) : record.level === "info" ? terminal.note(inWords(record)) : terminal.warn(record.message),
  });
  (await app.kanban()).person("dispatching");
  const dispatching = await openDispatching(app, { stays: true, failureLimit: flags.failureLimit as number | undefined, log });
  const printer = flags.json ? printJson(terminal) : printWords(app, terminal);
  const left = createWorkersLeft(app, terminal);
  const service = dispatching.watch((board, result) => {
    left.pass(board, result);
    printer.pass(board, result);
  });
  return await interruptible(terminal, async (signal) => {
    service.start();
    await aborted(signal);
    await service.stop();
    await dispatching.close();
    await printer.settled();
    await left.tell();
    signal.throwIfAborted();
    return 0;
  });
}

interface PassPrinter {
  pass(board: string, result: DispatchResult): void;
  settled(): Promise<void>;
}

/** What stays the same from pass to pass is said once; so is who leads. */
function printWords(app: App, terminal: Terminal): PassPrinter {
  const said = new Map<string, ReadonlySet<string>>();
  const waits = new Set<string>();
  let printing: Promise<void> = Promise.resolve();
  const print = async (board: string, result: DispatchResult) => {
    const lines = new Set(describeResult(result, { errors: await startErrors(app, result) }));
    const before = said.get(board);
    said.set(board, lines);
    const time = new Date(systemClock.now()).toISOString();
    if (result.skipped_locked) waits.add(board);
    else if (waits.delete(board)) terminal.line(`${time} ${board}: this dispatcher leads the board now`);
    for (const line of lines) if (!before?.has(line)) terminal.line(`${time} ${board}: ${line}`);
  };
  return {
    pass(board, result) {
      printing = printing.then(() => print(board, result)).catch((error: unknown) => terminal.warn(describeError(error)));
    },
    settled: () => printing,
  };
}

/** The first line of each; the rest is in what `show` says. */
async function startErrors(app: App, { spawn_failed: tasks }: DispatchResult): Promise<Map<string, string>> {
  const errors = new Map<string, string>();
  if (tasks.length === 0) return errors;
  const { store } = await app.kanban();
  for (const id of tasks) {
    const { error } = (await store.runs({ task: id })).findLast(({ outcome }) => outcome === "spawn_failed") ?? {};
    if (error) errors.set(id, firstLine(error));
  }
  return errors;
}

function printJson(terminal: Terminal): PassPrinter {
  return {
    pass(board, result) {
      if (describeResult(result).length > 0) void terminal.jsonLine({ time: systemClock.now(), board, ...result });
    },
    settled: async () => {},
  };
}

function inWords({ message, fields }: { message: string; fields: Readonly<Record<string, unknown>> }): string {
  // Of the rest, the message says what people want to know.
  const facts = fields.settings === undefined ? [] : Object.entries(fields).filter(([name]) => name !== "settings");
  return [message, ...facts.map(([name, value]) => `${name}=${value ?? "none"}`)].join(" ");
}
