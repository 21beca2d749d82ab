/** @module Rules about a board as a whole. */

import { isDamage } from "../../board/damage.ts";
import type { Task } from "../../board/task.ts";
import { unknownDefaultAssignee } from "../../dispatcher/settings.ts";
import type { BoardFacts, Diagnostic, Rule } from "./diagnostic.ts";

/** No repair mends a file. */
export const RESTORE = "restore a backup, as the guide of the board says under Upkeep";
const LARGE_WAL = 256 * 1024 * 1024;

const free = ({ status }: Task) => status === "ready" || status === "review";

function whole(diagnostic: Omit<Diagnostic, "task">): Diagnostic {
  return { ...diagnostic, task: null };
}

/** Tasks that wait for people or other programs need no dispatcher. */
const noDispatcher: Rule = ({ dispatched, tasks, board, profiles, settings: { settings } }) => {
  const able = new Set(profiles.filter(({ spawnable }) => spawnable).map(({ name }) => name));
  const waiting = tasks.filter((task) => free(task) && able.has(task.assignee ?? settings.defaultAssignee ?? "")).length;
  if (dispatched || waiting === 0) return [];
  const text = `${waiting} ${waiting === 1 ? "task waits" : "tasks wait"} on the board ${board}, and no dispatcher is alive`;
  return [whole({ rule: "no-dispatcher", severity: "error", text, todo: "`holdfast kanban dispatch --watch` is one" })];
};

const notSpawnable: Rule = ({ tasks, profiles }) =>
  profiles.flatMap(({ name, spawnable, problem }) => {
    const count = tasks.filter((task) => free(task) && task.assignee === name).length;
    if (spawnable || count === 0) return [];
    if (problem !== null) {
      const text = `the configuration of ${name} cannot be read, so none of its ${count} free tasks is started: ${problem}`;
      return [whole({ rule: "profile-broken", severity: "error", text, todo: `\`holdfast config list -p ${name}\` says what is wrong` })];
    }
    const text = `${name} has ${count} free ${count === 1 ? "task" : "tasks"} and no worker.command, so they wait for somebody who takes them`;
    return [
      whole({ rule: "not-spawnable", severity: "warning", text, todo: `set worker.command of ${name}, if it should work by itself` }),
    ];
  });

const defaultAssignee: Rule = ({ profiles, settings: { settings } }) => {
  const { defaultAssignee: name } = settings;
  if (name === null || profiles.some((profile) => profile.name === name)) return [];
  const todo = `\`holdfast profile create ${name}\`, or \`holdfast config set kanban.default_assignee\` to one that exists`;
  return [whole({ rule: "bad-setting", severity: "warning", text: unknownDefaultAssignee(name), todo })];
};

/** A cap is no fault; one that is used up while others wait should be known. */
const caps: Rule = ({ tasks, running, settings: { settings, warnings } }) => {
  const waiting = tasks.filter(free).length;
  const found = warnings.map((text) =>
    whole({ rule: "bad-setting", severity: "warning", text, todo: "`holdfast config set` it to a whole number of at least 1" }),
  );
  if (waiting === 0) return found;
  const full = (rule: string, text: string, key: string) =>
    found.push(whole({ rule, severity: "warning", text, todo: `wait for one of them, or raise ${key}` }));
  const [here, everywhere] = [sum(running.here), sum(running.everywhere)];
  if (settings.maxInProgress !== null && everywhere >= settings.maxInProgress) {
    full(
      "cap",
      `${waiting} tasks wait: kanban.max_in_progress is ${settings.maxInProgress}, and ${everywhere} run on all boards`,
      "kanban.max_in_progress",
    );
  }
  if (settings.maxSpawn !== null && here >= settings.maxSpawn) {
    full("cap", `${waiting} tasks wait: kanban.max_spawn is ${settings.maxSpawn}, and ${here} run on this board`, "kanban.max_spawn");
  }
  if (settings.profiles?.length === 0) {
    const text = "kanban.dispatch_profiles is empty, so no profile gets a worker";
    found.push(whole({ rule: "cap", severity: "error", text, todo: "name profiles in it, or unset it" }));
  }
  return found;
};

const database: Rule = ({ faults, walBytes }) => {
  const todo = "`holdfast kanban repair` puts right what can be, after taking a copy";
  const found = faults.map((text) =>
    isDamage(text)
      ? whole({ rule: "damaged", severity: "critical", text, todo: RESTORE })
      : whole({ rule: "fault", severity: "error", text, todo }),
  );
  if (walBytes <= LARGE_WAL) return found;
  const text = `the log of the database has ${walBytes} bytes: some process keeps it from being written back`;
  return [...found, whole({ rule: "large-wal", severity: "warning", text, todo: "end processes that have the board open for long" })];
};

export const BOARD_RULES: readonly Rule[] = [database, noDispatcher, notSpawnable, defaultAssignee, caps];

function sum(counts: BoardFacts["running"]["here"]): number {
  return Object.values(counts).reduce((total, count) => total + count, 0);
}
