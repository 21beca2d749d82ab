/** @module Values that flags and arguments can take. The name of a flag or argument says what it takes. */
import type { App } from "../../app/create-app.ts";
import { boardList } from "../../app/operations/board-list.ts";
import { processList } from "../../app/operations/process-list.ts";
import { profileList } from "../../app/operations/profile-list.ts";
import { sandboxList } from "../../app/operations/sandbox-list.ts";
import { sessionList } from "../../app/operations/session-list.ts";
import { taskList } from "../../app/operations/task-list.ts";
import { DEFAULT_PROFILE, DEFAULT_TASK } from "../../base/names.ts";
import { CONFIG_KEYS, lookUpKey } from "../../config/schema.ts";
import { type Line, lastValue, pathOf } from "../line.ts";

export interface Candidate {
  readonly value: string;
  readonly description: string;
}

export interface ValueContext {
  readonly line: Line;
  /** What is typed of the value so far. */
  readonly current: string;
  /** The app of a profile; without a name, of the one that counts. */
  app(profile: string | undefined): Promise<App>;
}

const MOST_TASKS = 50;

type Source = (context: ValueContext) => Promise<Candidate[]> | Candidate[];

/** None for a name that is not known here, or has nothing to offer. */
export async function candidatesFor(name: string, context: ValueContext): Promise<Candidate[]> {
  return Object.hasOwn(SOURCES, name) ? ((await SOURCES[name]?.(context)) ?? []) : [];
}

const SOURCES: Readonly<Record<string, Source>> = {
  profile: profiles,
  "clone-from": profiles,
  confirm: (context) => (pathOf(context.line.command).includes("boards") ? boards(context) : profiles(context)),
  task: tasks,
  board: boards,
  slug: boards,
  id: boardTasks,
  parent: boardTasks,
  child: boardTasks,
  created: boardTasks,
  assignee: profiles,
  reviewer: profiles,
  session: sessions,
  process: processes,
  key: () => CONFIG_KEYS.map(({ key, help }) => ({ value: key, description: help })),
  value: ({ line }) => valuesOfKey(line.operands[0] ?? ""),
  config: settings,
};

async function profiles({ app }: ValueContext): Promise<Candidate[]> {
  // Of `default`, which always exists: the profile that counts may be the very thing that is being put right.
  const found = await profileList.run(await app(DEFAULT_PROFILE), {});
  return found.map(({ name, home, description }) => ({ value: name, description: description ?? home }));
}

async function tasks({ line, app }: ValueContext): Promise<Candidate[]> {
  const opened = await app(lastValue(line, "--profile"));
  // Looking for sandboxes would make the home.
  if (!opened.profile.made) return [];
  const found = await sandboxList.run(opened, { all: false });
  return found.map(({ task, backend, state }) => ({ value: task, description: `${backend}, ${state}` }));
}

async function boards({ line, app }: ValueContext): Promise<Candidate[]> {
  const opened = await app(lastValue(line, "--profile"));
  // Asking for boards would make the first one.
  if (!opened.profile.made) return [];
  try {
    const found = await boardList.run(opened, { archived: false });
    return found.map(({ slug, name }) => ({ value: slug, description: name }));
  } finally {
    await opened.close();
  }
}

/** Of each status those that come first. */
async function boardTasks({ line, app }: ValueContext): Promise<Candidate[]> {
  const opened = await app(lastValue(line, "--profile"));
  // Asking for tasks would make the board.
  if (!opened.profile.made) return [];
  try {
    const board = lastValue(line, "--board");
    const { tasks: found } = await taskList.run(opened, { limit: MOST_TASKS, ...(board !== undefined && { board }) });
    return found.map(({ id, status, title }) => ({ value: id, description: `${status}: ${title}` }));
  } finally {
    await opened.close();
  }
}

async function sessions({ line, app }: ValueContext): Promise<Candidate[]> {
  const opened = await app(lastValue(line, "--profile"));
  if (!opened.profile.made) return [];
  try {
    const found = await sessionList.run(opened, { task: lastValue(line, "--task") ?? DEFAULT_TASK });
    return found.map(({ name, cwd }) => ({ value: name, description: cwd }));
  } finally {
    await opened.close();
  }
}

async function processes({ line, app }: ValueContext): Promise<Candidate[]> {
  const opened = await app(lastValue(line, "--profile"));
  if (!opened.profile.made) return [];
  try {
    const found = await processList.run(opened, { task: lastValue(line, "--task") ?? DEFAULT_TASK });
    return found.map(({ id, name, command }) => ({ value: id, description: name || command.slice(0, 60) }));
  } finally {
    await opened.close();
  }
}

/** First the key with its `=`, then the values of that key. */
function settings({ current }: ValueContext): Candidate[] {
  const equals = current.indexOf("=");
  if (equals < 0) return CONFIG_KEYS.map(({ key, help }) => ({ value: `${key}=`, description: help }));
  const key = current.slice(0, equals);
  return valuesOfKey(key).map(({ value, description }) => ({ value: `${key}=${value}`, description }));
}

function valuesOfKey(name: string): Candidate[] {
  const key = lookUpKey(name);
  const values = key?.kind === "boolean" ? ["true", "false"] : (key?.option.choices ?? []);
  return values.map((value) => ({ value, description: value === String(key?.default) ? "default" : "" }));
}
