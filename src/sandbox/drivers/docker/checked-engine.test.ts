import { expect, test } from "vitest";
import { failureOf } from "../../../../test/helpers/failure-of.ts";
import { HoldfastError } from "../../../base/errors.ts";
import { checkEngine } from "./checked-engine.ts";
import type { Engine, EngineResult } from "./engine.ts";

const VERSION = '{"Client":{"Version":"1.2"},"Server":{"Version":"3.4"}}';
const answer = (stdout: string): EngineResult => ({ code: 0, stdout, stderr: "" });
const never = (signal?: AbortSignal) =>
  new Promise<never>((_, reject) => signal?.addEventListener("abort", () => reject(new HoldfastError("aborted", "it was cut short"))));

/** What it was asked, and an engine that answers as it is told to. */
function engineThat(reply: (command: string, signal?: AbortSignal) => Promise<EngineResult>) {
  const asked: string[] = [];
  const engine: Engine = {
    program: "/x/docker",
    run([command = ""], { signal }) {
      asked.push(command);
      return reply(command, signal);
    },
  };
  return { engine: checkEngine(engine), asked };
}

test("S2 it is asked for its version once, along with the first command", async () => {
  const { engine, asked } = engineThat(async (command) => answer(command === "version" ? VERSION : command));
  const [ps, top] = await Promise.all([engine.run(["ps"], { limitMs: 1 }), engine.run(["top"], { limitMs: 1 })]);
  expect([ps.stdout, top.stdout]).toEqual(["ps", "top"]);
  await engine.run(["ps"], { limitMs: 1 });
  expect(await engine.facts()).toMatchObject({ kind: "docker", version: "3.4" });
  expect(asked).toEqual(["ps", "version", "top", "ps"]);
  await engine.facts({ anew: true });
  expect(asked).toEqual(["ps", "version", "top", "ps", "version"]);
});

test("S2 one that does not give its version fails the first command, and ends it", async () => {
  let ended = false;
  const { engine } = engineThat(async (command, signal) => {
    if (command === "version") throw new HoldfastError("operation-timeout", "too late");
    return never(signal).finally(() => {
      ended = true;
    });
  });
  expect(await failureOf(engine.run(["ps"], { limitMs: 1 }))).toMatchObject({
    code: "engine-not-responding",
    message: "Docker daemon is not responding: `/x/docker version` gave no answer within 5 s",
  });
  await Promise.resolve();
  expect(ended).toBe(true);
});

test("S2 one that has left a command without an answer is asked again with the next one", async () => {
  let hangs = false;
  const { engine, asked } = engineThat(async (command) => {
    if (hangs) throw new HoldfastError("operation-timeout", "too late");
    return answer(command === "version" ? VERSION : command);
  });
  await engine.run(["ps"], { limitMs: 1 });
  hangs = true;
  expect(await failureOf(engine.run(["ps"], { limitMs: 1 }))).toMatchObject({ code: "operation-timeout" });
  hangs = false;
  await engine.run(["ps"], { limitMs: 1 });
  expect(asked).toEqual(["ps", "version", "ps", "ps", "version"]);
});

test("whoever gives up does not keep the others from knowing", async () => {
  const version = Promise.withResolvers<EngineResult>();
  const { engine } = engineThat((command) => (command === "version" ? version.promise : Promise.resolve(answer(command))));
  const giveUp = new AbortController();
  const first = failureOf(engine.run(["ps"], { limitMs: 1, signal: giveUp.signal }));
  const second = engine.run(["top"], { limitMs: 1 });
  giveUp.abort();
  expect(await first).toMatchObject({ code: "aborted" });
  version.resolve(answer(VERSION));
  expect((await second).stdout).toBe("top");
});
