import { describe, expect, test } from "vitest";
import { workerSettings } from "../../test/helpers/worker-settings.ts";
import type { Claim } from "../board/claims.ts";
import type { Task } from "../board/task.ts";
import type { WorkerSettings } from "../dispatcher/worker.ts";
import { localVariables, supervisorVariables, workerVariables } from "./worker-environment.ts";

const DISPATCHER = {
  PATH: "/usr/bin",
  HOME: "/home/ada",
  LANG: "C.UTF-8",
  DOCKER_HOST: "unix:///run/docker.sock",
  TERMINAL_BACKEND: "docker",
  HOLDFAST_KANBAN_DATABASE: "postgres://me:secret@db/x",
  HOLDFAST_MODEL_API_KEY: "secret of the dispatcher",
  OPENAI_API_KEY: "another secret",
  MY_TOKEN: "a third one",
  LC_SECRET: "a fourth one",
  HOLDFAST_RUN_TOKEN: "of an outer run",
};

const WORKER: WorkerSettings = workerSettings(["true"]);

function variables(
  options: {
    worker?: Partial<WorkerSettings>;
    task?: Partial<Task>;
    dotenv?: Record<string, string>;
    images?: string[];
    database?: string;
  } = {},
) {
  const { worker, task, dotenv = {}, images = [], database = null } = options;
  const claim = {
    task: { id: "t_1", board: "web", tenant: null, skills: null, model: null, ...task },
    run: { id: 7, profile: "coder" },
    token: "word",
  } as unknown as Claim;
  const workspace = { kind: "worktree", path: "/w", branch: "holdfast/t_1" } as const;
  const launch = { worker: { ...WORKER, ...worker }, workspace, settings: {} as never };
  return workerVariables({ claim, launch, home: "/h", database, bin: "/h/kanban/bin", images, environment: DISPATCHER, dotenv });
}

const IDENTITY = {
  HOLDFAST_HOME: "/h",
  HOLDFAST_PROFILE: "coder",
  HOLDFAST_TASK: "t_1",
  HOLDFAST_RUN: "7",
  HOLDFAST_RUN_TOKEN: "word",
  HOLDFAST_BOARD: "web",
  HOLDFAST_WORKSPACE: "/w",
  HOLDFAST_BRANCH: "holdfast/t_1",
};

describe("a worker", () => {
  test("K28 on the host has who it is, its profile's own .env, and nothing of the dispatcher's secrets", () => {
    expect(variables({ dotenv: { API_KEY: "own" } })).toEqual({
      ...IDENTITY,
      PATH: "/h/kanban/bin:/usr/bin",
      HOME: "/home/ada",
      LANG: "C.UTF-8",
      API_KEY: "own",
    });
  });

  test("K28 in a sandbox has who it is, and of .env only what it names", () => {
    const worker = { sandbox: "task", env: { KEY: "${API_KEY}", MODE: "fast" } } as const;
    expect(variables({ worker, dotenv: { API_KEY: "own", OTHER: "not this" } })).toEqual({
      ...IDENTITY,
      HOLDFAST_BIN: "/h/kanban/bin",
      KEY: "own",
      MODE: "fast",
    });
  });

  test("K4 that names what its .env does not have is refused", () => {
    expect(() => variables({ worker: { env: { KEY: "${NO_SUCH}" } } })).toThrow(
      // The message alone: it is all that the board keeps of a run that could not be started.
      "worker.env.KEY is ${NO_SUCH}, but the .env of profile coder has no line NO_SUCH=… (`holdfast profile show coder` says where it is)",
    );
  });

  test("K28 cannot be told another task by its profile's configuration", () => {
    const env = { HOLDFAST_TASK: "t_2", HOLDFAST_RUN_TOKEN: "forged", PATH: "/opt/bin" };
    expect(variables({ worker: { env }, dotenv: { HOLDFAST_BOARD: "other" } })).toMatchObject({
      ...IDENTITY,
      PATH: "/h/kanban/bin:/opt/bin",
    });
  });

  test("K4 K28 is told skills, model, tenant and images; the task's own skills come first", () => {
    const told = variables({ worker: { skills: ["git"] }, task: { tenant: "acme", model: "large" }, images: ["/w/a.png"] });
    expect(told).toMatchObject({
      HOLDFAST_SKILLS: "git",
      HOLDFAST_TENANT: "acme",
      HOLDFAST_MODEL: "large",
      HOLDFAST_IMAGES: '["/w/a.png"]',
    });
    expect(variables({ worker: { skills: ["git"] }, task: { skills: ["review", "tests"] } })).toMatchObject({
      HOLDFAST_SKILLS: "review,tests",
    });
    expect(variables({ worker: { skills: ["git"] }, task: { skills: [] } })).not.toHaveProperty("HOLDFAST_SKILLS");
  });
});

test("K28 a worker is told the database that only its dispatcher knows of", () => {
  expect(variables({ database: "/elsewhere/board.db" })).toMatchObject({ HOLDFAST_KANBAN_DATABASE: "/elsewhere/board.db" });
  expect(variables()).not.toHaveProperty("HOLDFAST_KANBAN_DATABASE");
});

test("K28 what runs in a sandbox on this machine inherits nothing that reaches engines, boards or agents", () => {
  const secrets = {
    SSH_AUTH_SOCK: "/run/agent",
    DOCKER_AUTH_CONFIG: "secret",
    CONTAINERS_TOKEN: "secret",
    XDG_CONFIG_HOME: "/home/ada/.config",
  };
  expect(localVariables({ ...DISPATCHER, ...secrets, HOLDFAST_HOME: "/h" })).toEqual({
    PATH: "/usr/bin",
    HOME: "/home/ada",
    LANG: "C.UTF-8",
    TERMINAL_BACKEND: "docker",
    HOLDFAST_HOME: "/h",
  });
});

test("K28 a supervisor has what reaches sandboxes, and no credentials", () => {
  expect(supervisorVariables(DISPATCHER, "/h")).toEqual({
    PATH: "/usr/bin",
    HOME: "/home/ada",
    LANG: "C.UTF-8",
    DOCKER_HOST: "unix:///run/docker.sock",
    TERMINAL_BACKEND: "docker",
    HOLDFAST_HOME: "/h",
  });
});
