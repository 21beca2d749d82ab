import { expect, test } from "vitest";
import { failureOf } from "../../../test/helpers/failure-of.ts";
import { createManualClock } from "../../../test/helpers/manual-clock.ts";
import { HoldfastError } from "../../base/errors.ts";
import { listDirectory, statFile } from "./files.ts";
import type { ChannelHandlers, DaemonLink } from "./link.ts";
import { listProcesses, readLog } from "./processes.ts";
import { pullOutput } from "./pulled-output.ts";
import { openRequest, request } from "./requests.ts";
import { daemonStatus } from "./status.ts";
import { OUTPUT_WINDOW } from "./streams.ts";
import { FROM_CLIENT, FROM_DAEMON } from "./types.ts";
import { createReader, createWriter } from "./wire.ts";

/** One channel, at whose other end the test says what it likes. */
function scriptedLink() {
  const sent: { type: number; payload: Buffer }[] = [];
  let handlers: ChannelHandlers | undefined;
  const link: DaemonLink = {
    pid: 1,
    version: 1,
    clock: createManualClock(),
    closed: new Promise(() => {}),
    abandon() {},
    open(type, payload, given) {
      handlers = given;
      sent.push({ type, payload: Buffer.from(payload) });
      return { send: (kind, bytes = Buffer.alloc(0)) => void sent.push({ type: kind, payload: Buffer.from(bytes) }) };
    },
    async [Symbol.asyncDispose]() {},
  };
  return {
    link,
    sent,
    types: () => sent.map(({ type }) => type),
    say: (type: number, payload: Buffer = Buffer.alloc(0)) => handlers?.onFrame({ type, channel: 1, payload }),
    lose: (error: HoldfastError) => handlers?.onLost(error),
  };
}

const PURPOSE = { what: "do it", facts: { thing: 1 } };
const NOTHING = Buffer.alloc(0);
const opened = (offset: number) => createWriter().u32(0).u64(offset).done();
const failed = (errno: number, message: string) => createWriter().u32(errno).str(message).done();
const output = (bytes: Uint8Array) => createWriter().u8(1).bytes(bytes).done();

test.for([
  [2, "cannot read the file: No such file or directory", "file-not-found", "cannot do it: No such file or directory", "ENOENT"],
  [16, "the process is running: Device or resource busy", "busy", "cannot do it: the process is running", "EBUSY"],
  [28, "cannot write: No space left on device", "file-failed", "cannot do it: No space left on device", "ENOSPC"],
  [17, "cannot unpack a/b: File exists", "file-exists", "cannot do it: cannot unpack a/b: File exists", "EEXIST"],
  [999, "cannot look: Unknown error 999", "file-failed", "cannot do it: Unknown error 999", "E999"],
  [0, "the archive is cut off", "file-failed", "cannot do it: the archive is cut off", undefined],
] as const)("the failure %i means what it should", async ([errno, said, code, message, systemCode]) => {
  const { link, say } = scriptedLink();
  const failure = failureOf(request(link, FROM_CLIENT.remove, NOTHING, PURPOSE));
  expect(say(FROM_DAEMON.failed, failed(errno, said))).toBe(true);
  const facts = systemCode ? { thing: 1, systemCode } : { thing: 1 };
  expect(await failure).toMatchObject({ code, message, facts });
});

test("giving up asks the daemon to let go, and is told only when it has", async () => {
  const { link, say, types } = scriptedLink();
  const giveUp = new AbortController();
  const { done } = openRequest(link, FROM_CLIENT.wait, NOTHING, { ...PURPOSE, signal: giveUp.signal });
  let settled = false;
  const failure = failureOf(done).finally(() => {
    settled = true;
  });
  giveUp.abort();
  expect(types()).toEqual([FROM_CLIENT.wait, FROM_CLIENT.detach]);
  // What crossed it on the way is nobody's any more.
  expect(say(FROM_DAEMON.output, output(Buffer.from("x")))).toBe(false);
  await new Promise((resolve) => setImmediate(resolve));
  expect(settled).toBe(false);
  expect(say(FROM_DAEMON.done)).toBe(true);
  expect(await failure).toMatchObject({ code: "aborted" });
  expect(await failureOf(request(link, FROM_CLIENT.wait, NOTHING, { ...PURPOSE, signal: giveUp.signal }))).toMatchObject({
    code: "aborted",
  });
});

test("a link that breaks fails the request", async () => {
  const { link, lose } = scriptedLink();
  const failure = failureOf(request(link, FROM_CLIENT.remove, NOTHING, PURPOSE));
  const error = new HoldfastError("sandbox-lost", "gone");
  lose(error);
  expect(await failure).toBe(error);
});

test("output is granted again only when it was taken", async () => {
  const { link, say, sent } = scriptedLink();
  const pulled = pullOutput(link, FROM_CLIENT.readLog, NOTHING, PURPOSE);
  say(FROM_DAEMON.opened, opened(10));
  expect(await pulled.opened).toBe(10);
  const chunk = Buffer.alloc(OUTPUT_WINDOW / 4, "x");
  for (let count = 0; count < 4; count++) say(FROM_DAEMON.output, output(chunk));
  expect(sent).toHaveLength(1);
  expect(() => say(FROM_DAEMON.output, output(Buffer.from("x")))).toThrow(expect.objectContaining({ code: "protocol" }));
  expect((await pulled.next())?.offset).toBe(10);
  expect(sent.slice(1).map(({ type, payload }) => [type, createReader(payload).u32()])).toEqual([[FROM_CLIENT.credit, chunk.length]]);
  expect((await pulled.next())?.offset).toBe(10 + chunk.length);
});

test("breaking off asks the daemon to let go", async () => {
  const { link, say, types } = scriptedLink();
  const reading = (async () => {
    for await (const _ of readLog(link, "p_00000000", { follow: true })) break;
  })();
  // The generator has to ask before it is answered.
  await Promise.resolve();
  say(FROM_DAEMON.opened, opened(0));
  say(FROM_DAEMON.output, output(Buffer.from("abc")));
  await reading;
  expect(types()).toEqual([FROM_CLIENT.readLog, FROM_CLIENT.detach]);
});

test("after a gap the offset is the one that was told", async () => {
  const { link, say } = scriptedLink();
  const pulled = pullOutput(link, FROM_CLIENT.readLog, NOTHING, PURPOSE);
  say(FROM_DAEMON.opened, opened(0));
  say(FROM_DAEMON.output, output(Buffer.from("abc")));
  say(FROM_DAEMON.opened, opened(100));
  say(FROM_DAEMON.output, output(Buffer.from("def")));
  say(FROM_DAEMON.done);
  expect([await pulled.next(), await pulled.next(), await pulled.next()]).toMatchObject([{ offset: 0 }, { offset: 100 }, null]);
});

test("what came before a failure is handed over first; whoever has given up gets no beginning for the whole", async () => {
  const first = scriptedLink();
  const pulled = pullOutput(first.link, FROM_CLIENT.readFile, NOTHING, PURPOSE);
  first.say(FROM_DAEMON.opened, opened(3));
  first.say(FROM_DAEMON.output, output(Buffer.from("abc")));
  first.say(FROM_DAEMON.failed, failed(5, "cannot read the file: Input/output error"));
  expect(await pulled.next()).toMatchObject({ bytes: Buffer.from("abc") });
  expect(await failureOf(pulled.next())).toMatchObject({ code: "file-failed", facts: { systemCode: "EIO" } });

  const second = scriptedLink();
  const giveUp = new AbortController();
  const given = pullOutput(second.link, FROM_CLIENT.readFile, NOTHING, { ...PURPOSE, signal: giveUp.signal });
  second.say(FROM_DAEMON.opened, opened(3));
  second.say(FROM_DAEMON.output, output(Buffer.from("abc")));
  second.say(FROM_DAEMON.done);
  giveUp.abort();
  expect(await failureOf(given.next())).toMatchObject({ code: "aborted" });
});

test("an end before the beginning is a broken protocol", async () => {
  const { link, say } = scriptedLink();
  const pulled = pullOutput(link, FROM_CLIENT.readFile, NOTHING, PURPOSE);
  say(FROM_DAEMON.done);
  expect(await failureOf(pulled.opened)).toMatchObject({ code: "protocol" });
});

test.for([
  ["a process list", listProcesses],
  ["a status", daemonStatus],
  ["a file", (link: DaemonLink) => statFile(link, "/f", { follow: false })],
  ["a directory", (link: DaemonLink) => listDirectory(link, "/d")],
] as const)("an answer of another kind, or one that is cut, is refused for %s", async ([, ask]) => {
  const { link, say } = scriptedLink();
  ask(link).catch(() => {});
  expect(() => say(FROM_DAEMON.started, NOTHING)).toThrow(expect.objectContaining({ code: "protocol" }));
  for (const type of [FROM_DAEMON.process, FROM_DAEMON.status, FROM_DAEMON.entry]) {
    expect(() => say(type, Buffer.alloc(3))).toThrow(expect.objectContaining({ code: "protocol" }));
  }
});

test("more processes than there can be are refused", () => {
  const { link, say } = scriptedLink();
  listProcesses(link).catch(() => {});
  const process = createWriter().str("p_00000000").str("").u32(1).u8(0).u8(0).u8(0).u8(0).u8(0).u8(0).u64(0).u64(0).u64(0).str("").done();
  for (let count = 0; count < 64; count++) say(FROM_DAEMON.process, process);
  expect(() => say(FROM_DAEMON.process, process)).toThrow(expect.objectContaining({ code: "protocol" }));
});
