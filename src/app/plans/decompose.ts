/** @module Splits one task of triage into several by a model, once and as a whole (K35). */
import { HoldfastError } from "../../base/errors.ts";
import { DEFAULT_PROFILE } from "../../base/names.ts";
import type { Task } from "../../board/task.ts";
import { readSettings } from "../../dispatcher/settings.ts";
import type { Model } from "../../model/client.ts";
import type { App } from "../create-app.ts";
import { profileList } from "../operations/profile-list.ts";
import { type DecomposeAnswer, type PlannedPart, readDecomposition, unusable } from "./answer.ts";
import { decomposeQuestion, type RosterEntry } from "./questions.ts";

export interface Planned {
  readonly title: string;
  readonly body: string;
  readonly assignee: string | null;
  readonly after: readonly number[];
}

export interface DecomposePlan {
  /** One piece of work: the task itself gets a better text. */
  readonly single: { readonly title: string; readonly body: string } | null;
  readonly rationale: string;
  readonly tasks: readonly Planned[];
  readonly warnings: readonly string[];
}

export interface Planner {
  plan(task: Task): Promise<DecomposePlan>;
  /** The ids of what it became: its parts, or nothing when it stays one. */
  carryOut(task: Task, plan: DecomposePlan): Promise<string[]>;
}

export async function createPlanner(app: App, model: Model, by: string): Promise<Planner> {
  const { store, options } = await app.kanban();
  const { defaultAssignee } = readSettings(options).settings;
  const roster: RosterEntry[] = await profileList.run(app, {});
  const names = new Set(roster.map(({ name }) => name));
  const orchestrator = options.orchestrator_profile.trim().toLowerCase() || defaultAssignee;
  return {
    async plan(task) {
      refuseUnlessTriage(task);
      const answer = readDecomposition(await model.ask(decomposeQuestion(task, { roster, defaultAssignee })));
      if (!answer.fanout) return { single: { title: answer.title, body: answer.body }, rationale: "", tasks: [], warnings: [] };
      const warnings: string[] = [];
      const tasks = answer.tasks.map((part) => ({
        title: part.title,
        body: part.body,
        assignee: assigneeOf(part, { names, defaultAssignee, warnings }),
        after: part.parents,
      }));
      refuseCycles(answer);
      return { single: null, rationale: answer.rationale, tasks, warnings };
    },
    async carryOut(task, { single, tasks }) {
      if (single !== null) {
        await store.specify(task.id, single, { by });
        return [];
      }
      const known = orchestrator !== null && names.has(orchestrator) ? { assignee: orchestrator } : {};
      const inherited = { priority: task.priority, tenant: task.tenant };
      const plan = { tasks: tasks.map((part) => ({ ...inherited, ...part })), ...known, promote: options.auto_promote_children };
      const { children } = await store.decompose(task.id, plan, { by });
      return children.map(({ id }) => id);
    },
  };
}

interface Assignment {
  readonly names: ReadonlySet<string>;
  readonly defaultAssignee: string | null;
  readonly warnings: string[];
}

/** Only a profile that is there; the last of them always is, so nothing is left that nobody would ever take (K35). */
function assigneeOf({ assignee, title }: PlannedPart, { names, defaultAssignee, warnings }: Assignment): string {
  const wanted = assignee?.toLowerCase() ?? null;
  if (wanted !== null && names.has(wanted)) return wanted;
  const configured = defaultAssignee !== null && names.has(defaultAssignee);
  const instead = configured ? defaultAssignee : DEFAULT_PROFILE;
  if (wanted !== null) {
    const whose = configured ? "kanban.default_assignee, " : "the profile ";
    warnings.push(
      `there is no profile ${JSON.stringify(wanted.slice(0, 80))} for ${JSON.stringify(title)}, so it goes to ${whose}${instead}`,
    );
  }
  return instead;
}

/** Also in a dry run, where the store does not see it. */
function refuseCycles({ tasks }: Extract<DecomposeAnswer, { fanout: true }>): void {
  const open = new Set(tasks.keys());
  for (let before = -1; before !== open.size; ) {
    before = open.size;
    for (const index of [...open]) if (tasks[index]?.parents.every((parent) => !open.has(parent))) open.delete(index);
  }
  if (open.size > 0) throw unusable(`tasks ${[...open].join(", ")} wait for one another in a circle`);
}

export function refuseUnlessTriage({ id, status }: Task): void {
  if (status === "triage") return;
  throw new HoldfastError("move-refused", `${id} is ${status}, and only tasks in triage are planned`, { facts: { task: id, status } });
}
