/** @module What the boards have to do with a profile that gets another name or goes. */
import { FINISHED, STATUSES, type Status } from "../board/transitions.ts";
import type { App } from "./create-app.ts";
import { endLeftWorkers, isElsewhere } from "./end-worker.ts";
import { taskReclaim } from "./operations/task-reclaim.ts";
import type { ProfileHooks } from "./profile-hooks.ts";

const UNFINISHED = STATUSES.filter((status) => !(FINISHED as readonly Status[]).includes(status));

export async function profileBoards(app: App): Promise<Required<ProfileHooks>> {
  const kanban = await app.kanban();
  const { store } = kanban;
  const runsOf = (profile: string) => store.runs({ profile, open: true });
  async function* endable(profile: string) {
    // One that is elsewhere works under a profile of the same name, whose home is there.
    for (const run of await runsOf(profile)) if (!(await isElsewhere(app, run))) yield run.task;
  }
  return {
    async running(profile) {
      return (await runsOf(profile)).map(({ task }) => `task ${task}`);
    },
    endLeft: async (profile) => endLeftWorkers(app, await store.runs({ profile })),
    async assigned(profile) {
      return (await store.listTasks({ assignee: profile, status: UNFINISHED })).map(({ id }) => id);
    },
    async ending(profile) {
      const tasks: string[] = [];
      for await (const id of endable(profile)) tasks.push(id);
      return tasks;
    },
    async end(profile) {
      const tasks: string[] = [];
      for await (const id of endable(profile)) {
        await taskReclaim.run(app, { id, reason: `profile ${profile} is deleted` });
        tasks.push(id);
      }
      return tasks;
    },
    renameAssignee: async (from, to) => store.renameProfile(from, to, { by: kanban.person("renaming a profile") }),
  };
}
