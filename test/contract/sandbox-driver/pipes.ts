/** @module Cases: the three standard streams of a program. */
import { createHash } from "node:crypto";
import { expect } from "vitest";
import type { OutputStream } from "../../../src/sandbox/driver.ts";
import { collect, createTranscript, printed } from "../../helpers/collect.ts";
import type { Cases } from "./kit.ts";

const ALL_BYTES = Buffer.from(Array.from({ length: 256 }, (_, value) => value));

export const pipeCases: Cases = {
  "S34 standard output and standard error stay apart": async ({ shared }) => {
    const { stdout, stderr } = await collect(await shared(), ["bash", "-c", "echo out; echo err >&2; echo out again"]);
    expect([stdout.toString(), stderr.toString()]).toEqual(["out\nout again\n", "err\n"]);
  },

  "S34 merged, they keep their exact order": async ({ shared }) => {
    const script = "for ((i = 0; i < 500; i++)); do echo out $i; echo err $i >&2; done";
    const { stdout, stderr } = await collect(await shared(), ["bash", "-c", script], { merge: true });
    const expected = Array.from({ length: 500 }, (_, i) => `out ${i}\nerr ${i}\n`).join("");
    expect(stdout.toString() === expected).toBe(true);
    expect(stderr).toHaveLength(0);
  },

  "S34 any bytes pass, in both directions": async ({ shared }) => {
    const bytes = Buffer.concat([ALL_BYTES, Buffer.from([0xff, 0xc3, 0x28, 0xf0, 0x9f, 0x00]), ALL_BYTES]);
    const { stdout, stderr } = await collect(await shared(), ["bash", "-c", "tee /dev/stderr"], { input: bytes });
    expect([stdout.equals(bytes), stderr.equals(bytes)]).toEqual([true, true]);
  },

  "S34 a long output arrives whole": async ({ shared }) => {
    const { stdout } = await collect(await shared(), ["bash", "-c", "seq 1 400000; seq 1 1000 >&2"]);
    const expected = createHash("sha256").update(Array.from({ length: 400_000 }, (_, i) => `${i + 1}\n`).join(""));
    expect(createHash("sha256").update(stdout).digest("hex")).toBe(expected.digest("hex"));
  },

  "S34 while a chunk is being taken the program is held back": async ({ shared }) => {
    const connection = await shared();
    const directory = await printed(connection, "mktemp -d");
    const released = Promise.withResolvers<void>();
    const arrived = Promise.withResolvers<void>();
    let received = 0;
    const process = await connection.spawn(
      [
        "bash",
        "-c",
        'for ((i = 1; i <= 256; i++)); do head -c 65536 /dev/zero; echo $i >"$1/count"; done; echo 257 >"$1/count"',
        "bash",
        directory,
      ],
      {
        stdin: "none",
        onOutput(chunk) {
          received += chunk.length;
          arrived.resolve();
          return released.promise;
        },
      },
    );
    await arrived.promise;
    // Ends when the writer is done or has not moved on for half a second.
    const stuckAt = await printed(
      connection,
      `for ((same = 0; same < 10 && count < 257; same++)); do
  sleep 0.05; before=$count; count=$(cat "$1/count" 2>/dev/null || echo 0)
  if [[ $count != "$before" ]]; then same=0; fi
done; echo "$count"`,
      directory,
    );
    expect(received).toBeLessThanOrEqual(1024 * 1024);
    // An engine and its client hold up to 2.4 MB on the way, which is theirs to decide: the program must stand well before its end.
    expect(Number(stuckAt) * 65536).toBeLessThanOrEqual(4 * 1024 * 1024);
    released.resolve();
    await process.ended;
    expect(received).toBe(256 * 65536);
  },

  "S34 chunks of one stream never come two at once, and in order": async ({ shared }) => {
    const open: Record<OutputStream, number> = { stdout: 0, stderr: 0 };
    let overlaps = 0;
    const transcript = createTranscript();
    const process = await (await shared()).spawn(["bash", "-c", "seq 1 50000 & seq 1 50000 >&2; wait"], {
      stdin: "none",
      async onOutput(chunk, stream) {
        if (++open[stream] > 1) overlaps++;
        transcript.add(chunk, stream);
        await new Promise(setImmediate);
        open[stream]--;
      },
    });
    await process.ended;
    const expected = Array.from({ length: 50_000 }, (_, i) => `${i + 1}\n`).join("");
    expect(overlaps).toBe(0);
    expect([transcript.bytes("stdout").toString() === expected, transcript.bytes("stderr").toString() === expected]).toEqual([true, true]);
  },

  "S34 a taker that fails ends the delivery and is named by the end": async ({ shared }) => {
    let chunks = 0;
    const process = await (await shared()).spawn(["bash", "-c", "echo one; sleep 0.05; seq 1 100000; exit 3"], {
      stdin: "none",
      onOutput() {
        chunks++;
        throw new Error("no room");
      },
    });
    await expect(process.ended).rejects.toThrow("no room");
    expect(chunks).toBe(1);
  },

  "S34 a background process that holds the pipe delays nothing": async ({ shared }) => {
    const connection = await shared();
    const { stdout, exitCode } = await collect(connection, ["bash", "-c", "sleep 1000 & echo $!; exit 7"]);
    expect(exitCode).toBe(7);
    await printed(connection, 'kill "$1"', stdout.toString().trim());
  },

  "S34 all that was written before the end arrives, although the pipe stays open": async ({ shared }) => {
    const connection = await shared();
    for (const size of [1, 60_000]) {
      const script = 'sleep 1000 & echo $! >&2; head -c "$1" /dev/zero';
      const { stdout, stderr } = await collect(connection, ["bash", "-c", script, "bash", String(size)]);
      expect(stdout).toHaveLength(size);
      await printed(connection, 'kill "$1"', stderr.toString().trim());
    }
  },

  "S34 background processes that never stop writing neither delay the end nor flood": async ({ shared }) => {
    const connection = await shared();
    const transcript = createTranscript();
    let received = 0;
    const process = await connection.spawn(["bash", "-c", "echo before; cat /dev/zero & cat /dev/zero & echo $(jobs -p) >&2"], {
      stdin: "none",
      // Slower than they are, so that the pipe is never empty.
      async onOutput(chunk, stream) {
        if (stream === "stderr") transcript.add(chunk, stream);
        else received += chunk.length;
        await new Promise(setImmediate);
      },
    });
    expect((await process.ended).exitCode).toBe(0);
    // Behind it there may be a word of the engine's client about the pipe that was closed on it.
    const [jobs = ""] = transcript.bytes("stderr").toString().split("\n");
    await printed(connection, "kill $1", jobs);
    expect(received).toBeLessThan(8 * 1024 * 1024);
  },

  "S34 a program that closes its output runs on": async ({ shared }) => {
    const connection = await shared();
    const file = await printed(connection, "mktemp");
    const { exitCode, stdout } = await collect(connection, [
      "bash",
      "-c",
      'echo last; exec >&- 2>&-; sleep 0.05; echo done >"$1"; exit 4',
      "bash",
      file,
    ]);
    expect([exitCode, stdout.toString(), await printed(connection, 'cat "$1"', file)]).toEqual([4, "last\n", "done"]);
  },

  "S35 without input, reading meets the end at once": async ({ shared }) => {
    const { stdout, exitCode } = await collect(await shared(), ["bash", "-c", "cat; echo after"]);
    expect([exitCode, stdout.toString()]).toEqual([0, "after\n"]);
  },

  "S35 input arrives and ends": async ({ shared }) => {
    const input = "x".repeat(300_000);
    const { stdout } = await collect(await shared(), ["wc", "-c"], { input });
    expect(stdout.toString().trim()).toBe("300000");
  },

  "S35 input can be written while the program runs": async ({ shared }) => {
    const transcript = createTranscript();
    const process = await (await shared()).spawn(["cat"], { stdin: "pipe", onOutput: transcript.add });
    process.stdin?.write("first\n");
    await transcript.until("first");
    process.stdin?.write("second\n");
    await transcript.until("second");
    process.stdin?.end();
    expect((await process.ended).exitCode).toBe(0);
  },

  "S35 input that the program does not read is no error": async ({ shared }) => {
    const connection = await shared();
    const input = Buffer.alloc(4_000_000, "x");
    const some = await collect(connection, ["head", "-c", "1"], { input });
    const none = await collect(connection, ["bash", "-c", "exec <&-; exit 5"], { input });
    expect([some.exitCode, some.stdout.toString(), none.exitCode]).toEqual([0, "x", 5]);
  },

  "the streams can be opened by name": async ({ shared }) => {
    const script = "echo out >/dev/stdout; echo err >/dev/stderr; cat /dev/stdin; echo more | tee /dev/stderr; echo fd >/dev/fd/2";
    const { stdout, stderr } = await collect(await shared(), ["bash", "-c", script], { input: "in\n" });
    expect([stdout.toString(), stderr.toString()]).toEqual(["out\nin\nmore\n", "err\nmore\nfd\n"]);
  },
};
