/** @module An engine that is asked whether it answers along with its first command, so that nobody waits long for one that hangs. */
import { untilAborted } from "../../../base/abort.ts";
import type { Abortable } from "../../driver.ts";
import type { Engine } from "./engine.ts";
import { type EngineFacts, preflight } from "./preflight.ts";

/** Variables by which the clients choose the engine. */
export const CHOOSING = ["DOCKER_HOST", "DOCKER_CONTEXT", "CONTAINER_HOST", "CONTAINER_CONNECTION"];

/** What means the same as nothing. */
const NAMED_DEFAULT: Readonly<Record<string, string>> = { DOCKER_CONTEXT: "default" };

/** What else decides which containers are seen. */
export interface EngineChoice {
  readonly env?: Readonly<Record<string, string>>;
  readonly labels?: string;
}

export interface CheckedEngine extends Engine {
  /** Which engine it is, as far as that can be told without asking it: containers of another one are not to be found here. */
  readonly identity: string;
  /**
   * What it is does not change while we run; asking costs as much as any other command. `anew`: whether it answers now is the question.
   * @throws `engine-not-responding` (S2), as `run` does until it has answered once
   */
  facts(options?: Abortable & { readonly anew?: boolean }): Promise<EngineFacts>;
}

export function checkEngine(engine: Engine, { env = {}, labels = "" }: EngineChoice = {}): CheckedEngine {
  const identity = [
    engine.program,
    ...(labels ? [`labels=${labels}`] : []),
    ...CHOOSING.flatMap((name) => (env[name] && env[name] !== NAMED_DEFAULT[name] ? [`${name}=${env[name]}`] : [])),
  ].join(" ");
  let asked: Promise<EngineFacts> | undefined;
  let answered = false;
  const forget = () => {
    asked = undefined;
    answered = false;
  };
  const ask = async (): Promise<EngineFacts> => {
    try {
      const facts = await preflight(engine);
      answered = true;
      return facts;
    } catch (error) {
      forget();
      throw error;
    }
  };
  const facts: CheckedEngine["facts"] = ({ signal, anew = false } = {}) => {
    if (anew) forget();
    asked ??= ask();
    return untilAborted(asked, signal, "the container engine was not asked what it is");
  };

  return {
    program: engine.program,
    identity,
    facts,
    async run(args, options) {
      const giveUp = new AbortController();
      const signal = options.signal ? AbortSignal.any([options.signal, giveUp.signal]) : giveUp.signal;
      const work = engine.run(args, { ...options, signal });
      try {
        // At the same time, because asking first would make every first command take twice as long.
        if (!answered) await Promise.all([work, facts({ signal })]);
        return await work;
      } catch (error) {
        giveUp.abort(error);
        // An engine that has left a command without an answer may hang, and is asked again.
        forget();
        throw error;
      }
    },
  };
}
