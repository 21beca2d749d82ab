import { describe, expect, test } from "vitest";
import { failureOf } from "../../test/helpers/failure-of.ts";
import { type Answer, startModelServer } from "../../test/helpers/model-server.ts";
import { type Clock, systemClock } from "../base/clock.ts";
import { createModel, type ModelOptions } from "./client.ts";
import { retryDelay } from "./retry-delay.ts";

const KEY = "sk-very-secret-0123456789";
const QUESTION = { system: "be brief", user: "hello" };

async function asking(script: readonly Answer[], options: Partial<ModelOptions> = {}) {
  await using server = await startModelServer(script);
  const model = createModel({ ...modelOf(server.baseUrl), ...options });
  const outcome = await model.ask(QUESTION).catch((error: unknown) => error);
  return { outcome, requests: server.requests };
}

function modelOf(baseUrl: string): ModelOptions {
  const limits = { timeoutMs: 60_000, maxOutputTokens: 321, temperature: 0.5, backoffMs: 1 };
  return { baseUrl, name: "tiny", key: KEY, clock: systemClock, ...limits };
}

describe("K35 a question to the model", () => {
  test("is a chat completion with the key, and its answer the text of the first choice", async () => {
    const { outcome, requests } = await asking(["hi there"]);
    expect(outcome).toBe("hi there");
    expect(requests).toEqual([
      {
        path: "/v1/chat/completions",
        authorization: `Bearer ${KEY}`,
        body: {
          model: "tiny",
          messages: [
            { role: "system", content: "be brief" },
            { role: "user", content: "hello" },
          ],
          max_tokens: 321,
          temperature: 0.5,
          stream: false,
        },
      },
    ]);
  });

  test("goes without a key where there is none", async () => {
    const { requests } = await asking(["hi"], { key: undefined });
    expect(requests[0]?.authorization).toBeUndefined();
  });

  test.for([429, 500, 503])("is asked again after status %i", async (status) => {
    const { outcome, requests } = await asking([{ status, headers: { "retry-after": "0" } }, "at last"]);
    expect(outcome).toBe("at last");
    expect(requests).toHaveLength(2);
  });

  test("is given up after three attempts, with what the endpoint says", async () => {
    const { outcome, requests } = await asking([{ status: 500, body: '{"error":{"message":"out of order"}}' }]);
    expect(outcome).toMatchObject({ code: "model-failed", message: expect.stringContaining("status 500: out of order") });
    expect(requests).toHaveLength(3);
  });

  test("is not asked again when it was refused", async () => {
    const { outcome, requests } = await asking([{ status: 401, body: "no" }]);
    expect(outcome).toMatchObject({ code: "model-failed", message: expect.stringContaining("status 401") });
    expect(requests).toHaveLength(1);
  });

  test("does not wait for longer than the limit because the endpoint says so", async () => {
    const { outcome, requests } = await asking([{ status: 429, headers: { "retry-after": "3600" } }]);
    expect(outcome).toMatchObject({ code: "model-failed", message: expect.stringContaining("status 429") });
    expect(requests).toHaveLength(1);
  });

  test("that is never answered ends with the limit", async () => {
    await using server = await startModelServer(["hang"]);
    let fire = () => {};
    const clock: Clock = {
      ...systemClock,
      after: (_, callback) => {
        fire = callback;
        return { cancel: () => {} };
      },
    };
    const asked = server.next();
    const failure = failureOf(createModel({ ...modelOf(server.baseUrl), clock }).ask(QUESTION));
    await asked;
    fire();
    expect(await failure).toMatchObject({ code: "model-failed", message: expect.stringContaining("did not answer within 60 s") });
  });

  test.for<[string, Answer]>([
    ["huge", { says: "x".repeat(2 * 1024 * 1024) }],
    ["no JSON", { body: "<html>" }],
    ["JSON of another kind", { body: "[1]" }],
    ["a choice without text", { body: '{"choices":[{}]}' }],
    ["null", { body: "null" }],
    ["empty", { says: " " }],
  ])("answered with %s fails", async ([, answer]) => {
    expect((await asking([answer])).outcome).toMatchObject({ code: "model-failed" });
  });

  test("never follows a redirect, which could carry the key elsewhere", async () => {
    await using thief = await startModelServer(["stolen"]);
    const { outcome } = await asking([{ status: 307, headers: { location: `${thief.baseUrl}/chat/completions` } }]);
    expect(outcome).toMatchObject({ code: "model-failed", message: expect.stringContaining("status 307") });
    expect(thief.requests).toEqual([]);
  });

  test("never shows the key, also when the endpoint repeats it", async () => {
    const { outcome } = await asking([{ status: 401, body: JSON.stringify({ error: { message: `bad key ${KEY}` } }) }]);
    expect(outcome).toBeInstanceOf(Error);
    expect(JSON.stringify(outcome) + String((outcome as Error).stack)).not.toContain(KEY);
  });

  test("to nobody says that there is nobody", async () => {
    const server = await startModelServer([]);
    await server[Symbol.asyncDispose]();
    const failure = await failureOf(createModel(modelOf(server.baseUrl)).ask(QUESTION));
    expect(failure).toMatchObject({ code: "model-failed", message: expect.stringContaining("ECONNREFUSED") });
  });

  test.for(["", "ftp://x/v1", "not an address", "https://user:pw@host/v1"])("has no address in %j", (baseUrl) => {
    expect(() => createModel(modelOf(baseUrl))).toThrow(expect.objectContaining({ code: "model-not-configured" }));
  });

  test("refuses a key that cannot be sent, without showing it", async () => {
    const make = async () => createModel({ ...modelOf("http://127.0.0.1:1"), key: `${KEY}\n` });
    const failure = await failureOf(make());
    expect(failure).toMatchObject({ code: "model-not-configured" });
    expect(JSON.stringify(failure)).not.toContain(KEY);
  });
});

test.for([
  [null, 7],
  ["", 7],
  ["2", 2000],
  ["-1", 0],
  ["soon", 7],
  ["Thu, 01 Jan 1970 00:00:03 GMT", 2000],
] as const)("Retry-After %j means %i ms", ([header, ms]) => expect(retryDelay(header, { otherwise: 7, now: 1000 })).toBe(ms));
