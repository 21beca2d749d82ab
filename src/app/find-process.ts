/** @module Finding a background process by what people write: its id, the beginning of it, or its name. */
import { HoldfastError } from "../base/errors.ts";
import { didYouMean } from "../base/suggest.ts";
import type { Processes, ProcessInfo } from "../sandbox/process.ts";
import type { App } from "./create-app.ts";
import { visitSandbox } from "./sandbox-of-task.ts";

/** @throws `sandbox-not-found`, `sandbox-stopped`: nothing is made or started, since there is nothing to find in a new sandbox. */
export async function processesOf(app: App, task: string): Promise<Processes> {
  return (await visitSandbox(app, task)).processes;
}

/** @throws `sandbox-not-found`, `process-not-found`, or `invalid-input` when several fit */
export async function findProcess(app: App, task: string, wanted: string): Promise<{ processes: Processes; info: ProcessInfo }> {
  const processes = await processesOf(app, task);
  return { processes, info: pickProcess(await processes.list(), wanted) };
}

/** An id counts before a name, and a name means the process that runs under it, or else the last that did. */
export function pickProcess(list: readonly ProcessInfo[], wanted: string): ProcessInfo {
  const exact = list.find(({ id }) => id === wanted);
  if (exact) return exact;
  const named = list.filter(({ name }) => name !== "" && name === wanted);
  const running = named.filter(({ state }) => state === "running");
  const fitting = [running, named.slice(-1)].find(({ length }) => length > 0) ?? list.filter(({ id }) => isBeginning(id, wanted));
  const [only, ...others] = fitting;
  if (only && others.length === 0) return only;
  throw only ? ambiguous(wanted, fitting) : notFound(wanted, list);
}

/** With or without the `p_`, which alone says nothing. */
function isBeginning(id: string, wanted: string): boolean {
  const digits = wanted.replace(/^p_/, "");
  return digits !== "" && id.startsWith(`p_${digits}`);
}

function ambiguous(wanted: string, fitting: readonly ProcessInfo[]): HoldfastError {
  const ids = fitting.map(({ id }) => id);
  return new HoldfastError("invalid-input", `${JSON.stringify(wanted)} can be any of ${ids.length} processes`, {
    hint: `write the id of the one that is meant: ${ids.join(", ")}`,
    facts: { process: wanted, ids },
  });
}

function notFound(wanted: string, list: readonly ProcessInfo[]): HoldfastError {
  return new HoldfastError("process-not-found", `there is no process ${JSON.stringify(wanted)} in the sandbox`, {
    hint: didYouMean(wanted, new Set(list.flatMap(({ id, name }) => (name === "" ? [id] : [id, name])))),
    facts: { process: wanted },
  });
}
