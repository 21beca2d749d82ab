import { describe, expect, test } from "vitest";
import { failureOf } from "../../../test/helpers/failure-of.ts";
import { type Answer, startModelServer } from "../../../test/helpers/model-server.ts";
import { createTestApp, type TestAppOptions } from "../../../test/helpers/test-app.ts";
import { systemClock } from "../../base/clock.ts";
import { autoDecompose } from "../auto-decompose.ts";
import { planDecompose } from "../operations/plan-decompose.ts";
import { planSpecify } from "../operations/plan-specify.ts";
import { planSwarm } from "../operations/plan-swarm.ts";
import { swarmTasks } from "./swarm.ts";

const KEY = "sk-very-secret-0123456789";

const ANSWER = JSON.stringify({
  fanout: true,
  rationale: "two halves",
  tasks: [
    { title: "first", body: "do it", assignee: "Ada", parents: [] },
    { title: "second", body: "then that", assignee: "nobody-known", parents: [0] },
    { title: "third", body: "", assignee: null, parents: [] },
  ],
});

async function setUp(script: readonly Answer[], { config = {}, ...options }: TestAppOptions = {}) {
  const server = await startModelServer(script);
  const settings = { "model.base_url": server.baseUrl, "model.name": "tiny", ...config };
  const made = await createTestApp({ profiles: ["ada", "bob"], env: { HOLDFAST_MODEL_API_KEY: KEY }, config: settings, ...options });
  const { store } = await made.app.kanban();
  const idea = async (title = "idea", body = "") =>
    (await store.createTask({ title, body, initial: "triage", priority: 3, tenant: "acme" }, { by: "tester" })).task;
  const stack = new AsyncDisposableStack();
  stack.use(server);
  stack.use(made);
  return { ...made, server, store, idea, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

describe("K35 decompose", () => {
  test("makes linked tasks of one, which waits for all of them and belongs to the orchestrator; none is left to nobody", async () => {
    await using given = await setUp([ANSWER], { config: { "kanban.orchestrator_profile": "bob" } });
    const { app, store, idea, server } = given;
    const task = await idea("build it", "x".repeat(9000));
    const [result] = await planDecompose.run(app, { id: task.id, all: false, dryRun: false });
    const children = await Promise.all((result?.children ?? []).map((id) => store.getTask(id)));
    expect(children.map(({ title, assignee, status, priority, tenant }) => [title, assignee, status, priority, tenant])).toEqual([
      ["first", "ada", "ready", 3, "acme"],
      ["second", "default", "todo", 3, "acme"],
      ["third", "default", "ready", 3, "acme"],
    ]);
    expect(result?.warnings).toEqual([
      expect.stringMatching(/^there is no profile "nobody-known" for "second", so it goes to the profile default$/),
    ]);
    expect(await store.getTask(task.id)).toMatchObject({ status: "todo", assignee: "bob" });
    expect((await store.parents(task.id)).map(({ id }) => id)).toEqual(result?.children);
    const asked = JSON.parse(server.requests[0]?.body.messages[1]?.content ?? "{}");
    expect(asked.roster.map(({ name }: { name: string }) => name)).toEqual(["default", "ada", "bob"]);
    expect(asked.task).toEqual({ title: "build it", body: "x".repeat(4000) });
    expect(server.requests[0]?.authorization).toBe(`Bearer ${KEY}`);
  });

  test("gives the default assignee what nobody fits, and leaves parts in triage if they are not to go on by themselves", async () => {
    const config = { "kanban.default_assignee": "bob", "kanban.auto_promote_children": "false" };
    await using given = await setUp([ANSWER], { config });
    const { app, store, idea } = given;
    const [result] = await planDecompose.run(app, { id: (await idea()).id, all: false, dryRun: false });
    const children = await Promise.all((result?.children ?? []).map((id) => store.getTask(id)));
    expect(children.map(({ assignee, status }) => [assignee, status])).toEqual([
      ["ada", "triage"],
      ["bob", "triage"],
      ["bob", "triage"],
    ]);
    // They wait for a person.
    expect(await autoDecompose(app, "default", { limit: 5 })).toEqual([]);
  });

  test("changes nothing in a dry run, and happens once", async () => {
    await using given = await setUp([ANSWER]);
    const { app, store, idea } = given;
    const { id } = await idea();
    const [planned] = await planDecompose.run(app, { id, all: false, dryRun: true });
    expect(planned).toMatchObject({ children: [], tasks: [{ title: "first" }, { title: "second", after: [0] }, { title: "third" }] });
    expect(await store.listTasks({})).toHaveLength(1);
    await planDecompose.run(app, { id, all: false, dryRun: false });
    expect(await failureOf(planDecompose.run(app, { id, all: false, dryRun: false }))).toMatchObject({ code: "move-refused" });
    expect(await store.listTasks({})).toHaveLength(4);
  });

  test("leaves one piece of work one task, with a better text", async () => {
    await using given = await setUp(['```json\n{"fanout": false, "title": "Better", "body": "Much"}\n```']);
    const { app, store, idea } = given;
    const { id } = await idea();
    await planDecompose.run(app, { id, all: false, dryRun: false });
    expect(await store.getTask(id)).toMatchObject({ title: "Better", body: "Much", status: "ready" });
  });

  test.for([
    [
      "a cycle",
      JSON.stringify({
        fanout: true,
        tasks: [
          { title: "a", parents: [1] },
          { title: "b", parents: [0] },
        ],
      }),
    ],
    ["a task that waits for itself", JSON.stringify({ fanout: true, tasks: [{ title: "a", parents: [0] }] })],
    ["no JSON", "sorry"],
  ])("refuses %s, also in a dry run, and leaves the task as it is", async ([, answer]) => {
    await using given = await setUp([answer as string]);
    const { app, store, idea } = given;
    const { id } = await idea();
    for (const dryRun of [true, false]) {
      expect(await failureOf(planDecompose.run(app, { id, all: false, dryRun }))).toMatchObject({ code: "model-failed" });
    }
    expect(await store.listTasks({})).toMatchObject([{ id, status: "triage" }]);
  });

  test("of all goes on after one that fails", async () => {
    await using given = await setUp(["sorry", ANSWER]);
    const { app, idea } = given;
    const [one, two] = [await idea("one"), await idea("two")];
    const results = await planDecompose.run(app, { all: true, dryRun: false });
    expect(results).toMatchObject([
      { task: one.id, error: expect.stringContaining("no JSON") },
      { task: two.id, children: { length: 3 } },
    ]);
  });

  test("says so when there is no model, and when it has no name", async () => {
    await using without = await createTestApp();
    const { store } = await without.app.kanban();
    const { task } = await store.createTask({ title: "idea", initial: "triage" }, { by: "tester" });
    for (const work of [
      planDecompose.run(without.app, { id: task.id, all: false, dryRun: false }),
      planSpecify.run(without.app, { all: true }),
    ]) {
      expect(await failureOf(work)).toMatchObject({ code: "model-not-configured", hint: expect.stringContaining("model.base_url") });
    }
    expect(await autoDecompose(without.app, "default", { limit: 1 })).toEqual([]);
    await using nameless = await createTestApp({ config: { "model.base_url": "http://127.0.0.1:1" } });
    expect(await failureOf(planSpecify.run(nameless.app, { all: true }))).toMatchObject({ code: "model-not-configured" });
  });

  test("wants one task or all of them, and only in triage", async () => {
    await using given = await setUp([ANSWER]);
    const { app, store } = given;
    for (const input of [{ all: false }, { id: "t_00000000", all: true }]) {
      expect(await failureOf(planDecompose.run(app, { ...input, dryRun: false }))).toMatchObject({ code: "invalid-input" });
    }
    const { task } = await store.createTask({ title: "ready" }, { by: "tester" });
    expect(await failureOf(planDecompose.run(app, { id: task.id, all: false, dryRun: false }))).toMatchObject({ code: "move-refused" });
    const { id } = await given.idea();
    expect(await failureOf(planSpecify.run(app, { id, all: false, board: "other" }))).toMatchObject({ code: "task-not-found" });
    expect(given.server.requests).toEqual([]);
  });

  test("is not for workers", async () => {
    const env = { HOLDFAST_TASK: "t_00000000", HOLDFAST_RUN_TOKEN: "x" };
    await using given = await createTestApp({ env, config: { "model.base_url": "http://127.0.0.1:1", "model.name": "x" } });
    expect(await failureOf(planDecompose.run(given.app, { all: true, dryRun: false }))).toMatchObject({ code: "move-refused" });
  });
});

test("K35 specify writes a better text, and the key comes from .env as well", async () => {
  await using given = await setUp(['{"title": "Clear", "body": "Very"}'], { env: { HOLDFAST_MODEL_API_KEY: "from-variable" } });
  const { app, store, idea, server } = given;
  const { id } = await idea("vague");
  expect(await planSpecify.run(app, { id, all: false })).toEqual([{ task: id, title: "Clear", body: "Very", status: "ready" }]);
  expect(await store.getTask(id)).toMatchObject({ title: "Clear", body: "Very" });
  expect(server.requests[0]?.authorization).toBe("Bearer from-variable");
});

describe("K35 the dispatcher's decomposing", () => {
  test("takes a few at a time, and leaves alone what failed until some time has passed", async () => {
    let now = 0;
    await using given = await setUp(["sorry", "sorry", ANSWER], { clock: { ...systemClock, monotonic: () => now } });
    const { app, idea, server } = given;
    const [one, two] = [await idea("one"), await idea("two")];
    expect(await autoDecompose(app, "default", { limit: 1 })).toMatchObject([{ task: one.id, error: expect.stringContaining("no JSON") }]);
    expect(await autoDecompose(app, "default", { limit: 1 })).toMatchObject([{ task: two.id, error: expect.stringContaining("no JSON") }]);
    expect(await autoDecompose(app, "default", { limit: 1 })).toEqual([]);
    expect(server.requests).toHaveLength(2);
    now += 61_000;
    expect(await autoDecompose(app, "default", { limit: 1 })).toMatchObject([{ task: one.id, error: null, children: { length: 3 } }]);
  });

  test("is off when it is switched off", async () => {
    await using given = await setUp([ANSWER], { config: { "kanban.auto_decompose": "false" } });
    await given.idea();
    expect(await autoDecompose(given.app, "default", { limit: 1 })).toEqual([]);
    expect(given.server.requests).toEqual([]);
  });
});

describe("K35 swarm", () => {
  const input = {
    goal: "Compare\nthree \u001b[31mlibraries",
    workers: [
      { profile: "ada", title: "Look at A", skills: ["research"] },
      { profile: "BOB", title: "Look at B" },
    ],
    verifier: "ada",
    synthesizer: "bob",
    priority: 2,
    tenant: "acme",
  };

  test("is workers side by side behind a finished blackboard, a verifier, then a synthesizer; it needs no model", async () => {
    await using given = await createTestApp({ profiles: ["ada", "bob"] });
    const { store } = await given.app.kanban();
    const made = await planSwarm.run(given.app, input);
    const tasks = await Promise.all([made.root, ...made.workers, made.verifier, made.synthesizer].map((id) => store.getTask(id)));
    expect(tasks.map(({ title, assignee, status, skills, priority }) => [title, assignee, status, skills, priority])).toEqual([
      ["Compare three [31mlibraries", null, "done", null, 2],
      ["Look at A", "ada", "ready", ["research"], 2],
      ["Look at B", "bob", "ready", null, 2],
      ["Verify: Compare three [31mlibraries", "ada", "todo", null, 2],
      ["Put together: Compare three [31mlibraries", "bob", "todo", null, 2],
    ]);
    for (const { body } of tasks.slice(1)) expect(body).toContain(`holdfast kanban comment ${made.root}`);
    for (const id of made.workers) await store.complete(id, {}, { by: "tester" });
    expect(await store.getTask(made.verifier)).toMatchObject({ status: "ready" });
    expect(await store.getTask(made.synthesizer)).toMatchObject({ status: "todo" });
    await store.complete(made.verifier, {}, { by: "tester" });
    expect(await store.getTask(made.synthesizer)).toMatchObject({ status: "ready" });
  });

  test("with a key is built once, and nobody begins before it is whole", async () => {
    await using given = await createTestApp({ profiles: ["ada", "bob"] });
    const { store } = await given.app.kanban();
    const keyed = { ...input, idempotencyKey: "k" };
    await store.createTasks(swarmTasks({ ...keyed, board: "default" }), { by: "tester" });
    expect(await store.listTasks({ status: "ready" })).toEqual([]);
    const first = await planSwarm.run(given.app, keyed);
    expect(first.created).toBe(false);
    expect(await store.listTasks({ status: "ready" })).toMatchObject([{ title: "Look at A" }, { title: "Look at B" }]);
    expect(await store.getTask(first.synthesizer)).toMatchObject({ body: expect.stringContaining(first.verifier) });
    expect(await planSwarm.run(given.app, keyed)).toEqual(first);
    expect(await store.listTasks({})).toHaveLength(5);
    const fewer = { ...keyed, workers: input.workers.slice(1) };
    expect(await failureOf(planSwarm.run(given.app, fewer))).toMatchObject({ code: "invalid-input" });
  });

  test.for([
    ["a profile that is not there", { verifier: "carl" }, "profile-not-found"],
    ["no workers", { workers: [] }, "invalid-input"],
    ["too many workers", { workers: Array.from({ length: 21 }, () => ({ profile: "ada", title: "x" })) }, "invalid-input"],
    ["a board that is not there", { board: "nope" }, "board-not-found"],
    ["a board that is none", { board: "../x" }, "invalid-name"],
  ] as const)("refuses %s, and makes nothing", async ([, change, code]) => {
    await using given = await createTestApp({ profiles: ["ada", "bob"] });
    const { store } = await given.app.kanban();
    expect(await failureOf(planSwarm.run(given.app, { ...input, ...change } as never))).toMatchObject({ code });
    expect(await store.listTasks({})).toEqual([]);
  });
});
