/** @module Cases: what a command reads. */
import { PassThrough, Readable } from "node:stream";
import { expect } from "vitest";
import { alive } from "../../helpers/collect.ts";
import { failureOf } from "../../helpers/failure-of.ts";
import type { Cases } from "./kit.ts";

export const inputCases: Cases = {
  "S35 without input a command meets the end at once": async ({ shell }) => {
    const { text } = await shell();
    expect(await text("cat; read -r line || echo end; [[ -t 0 ]] || echo no terminal")).toBe("end\nno terminal");
  },

  "S35 input may be text, also empty": async ({ shell }) => {
    const { text } = await shell();
    expect(await text("cat", { stdin: "é 漢\nno last line break" })).toBe("é 漢\nno last line break");
    expect(await text("cat; echo end", { stdin: "" })).toBe("end");
    expect(await text("read -r a; read -r b; echo $b $a; cat /dev/stdin", { stdin: "one\ntwo\nthree\n" })).toBe("two one\nthree");
  },

  "S35 input may be bytes of any kind and number": async ({ shell }) => {
    const { run } = await shell();
    const bytes = Uint8Array.from({ length: 300_000 }, (_, index) => (index * 7) % 256);
    const chunks: Uint8Array[] = [];
    await run("cat", { stdin: bytes, onOutput: (chunk) => void chunks.push(chunk) });
    expect(Buffer.concat(chunks).equals(bytes)).toBe(true);
  },

  "S35 input may be a stream, which is read as the command reads": async ({ shell }) => {
    const { text, start } = await shell();
    expect(await text("cat", { stdin: Readable.from(["one ", Buffer.from("two "), "three"]) })).toBe("one two three");
    const stdin = new PassThrough();
    const call = start('while read -r line; do echo "got $line"; done', { stdin });
    stdin.write("first\n");
    await call.untilPrinted("got first");
    stdin.end("second\n");
    expect((await call.result).stdout).toBe("got first\ngot second\n");
  },

  "S35 a stream faster than the command is held back": async ({ shell }) => {
    const { start } = await shell();
    let produced = 0;
    const stdin = Readable.from(
      (function* () {
        for (; produced < 400; produced++) yield Buffer.alloc(65_536, "x");
      })(),
    );
    const call = start("head -c 1 >/dev/null; echo begun; sleep 0.2; wc -c", { stdin });
    await call.untilPrinted("begun");
    expect(produced).toBeLessThan(100);
    expect((await call.result).stdout).toBe(`begun\n${400 * 65_536 - 1}\n`);
  },

  "S35 input that is not read is no error": async ({ shell }) => {
    const { run } = await shell();
    const stdin = Buffer.alloc(5_000_000, "x");
    expect(await run("head -c 1", { stdin })).toMatchObject({ exitCode: 0, stdout: "x", warnings: [] });
    expect(await run("true", { stdin: Readable.from([stdin, stdin]) })).toMatchObject({ exitCode: 0 });
    expect(await run("exec <&-; exit 4", { stdin })).toMatchObject({ exitCode: 4 });
    const stream = Readable.from([stdin, stdin]);
    expect(await run("exec <&-; until [[ -e go ]]; do touch go; sleep 0.1; done; exit 4", { stdin: stream })).toMatchObject({
      exitCode: 4,
    });
  },

  "S35 a stream that never ends does not hold a command that does": async ({ shell }) => {
    const { run } = await shell();
    const stdin = new PassThrough();
    stdin.write("one\n");
    expect(await run("read -r line; echo $line", { stdin })).toMatchObject({ exitCode: 0, stdout: "one\n" });
    expect(stdin.destroyed).toBe(true);
  },

  "S35 a stream that fails ends the call and is named as the reason": async ({ shell }) => {
    const { run, start, text, connection } = await shell();
    await run("true");
    const stdin = new PassThrough();
    const call = start("echo pid $$; cat >/dev/null; sleep 1000", { stdin });
    const outcome = failureOf(call.result);
    const said = await call.untilPrinted(/pid \d+\n/);
    stdin.destroy(new Error("the disk broke"));
    expect(await outcome).toMatchObject({
      code: "invalid-input",
      message: expect.stringContaining("the disk broke"),
    });
    expect(await alive(connection, said.match(/\d+/g) ?? ["none"])).toEqual([]);
    expect(await text("echo usable")).toBe("usable");
  },

  "S35 a stream that breaks off does not pass for a whole input": async ({ shell }) => {
    const { run, start } = await shell();
    await run("true");
    const stdin = new PassThrough();
    const call = start("read -r line; echo got $line; cat", { stdin });
    const outcome = failureOf(call.result);
    stdin.write("one\n");
    await call.untilPrinted("got one");
    stdin.destroy();
    expect(await outcome).toMatchObject({ code: "invalid-input" });
    const gone = new PassThrough();
    gone.destroy();
    await expect(run("cat", { stdin: gone })).rejects.toMatchObject({ code: "invalid-input" });
  },

  "S35 the command text is not what the command reads": async ({ shell }) => {
    const { text } = await shell();
    expect(await text("cat\necho next line", { stdin: "input" })).toBe("inputnext line");
    expect(await text("bash -s -- arg <<<'echo $1 from script'; cat", { stdin: "rest" })).toBe("arg from script\nrest");
  },
};
