/** @module Cases: what a call's result says about output, within its limits and beyond them. */
import { readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { expect } from "vitest";
import type { Cases } from "./kit.ts";

const MARKER = /\n\[… ([\d,]+) bytes left out here; (.*) …\]\n/s;

/** The parts of a text that was cut. */
function parts(text: string): { head: string; tail: string; omitted: number; place: string } {
  const [whole = "", count = "", place = ""] = MARKER.exec(text) ?? [];
  const at = text.indexOf(whole);
  return { head: text.slice(0, at), tail: text.slice(at + whole.length), omitted: Number(count.replaceAll(",", "")), place };
}

export const outputCases: Cases = {
  "S34 a result has both streams, apart and in their order": async ({ shell }) => {
    const { start } = await shell();
    const stdin = new PassThrough();
    const call = start("echo one; read -r; echo two >&2; read -r; echo three", { stdin });
    for (const word of ["one", "two"]) {
      await call.untilPrinted(word);
      stdin.write("\n");
    }
    const result = await call.result;
    expect(result).toMatchObject({ stdout: "one\nthree\n", stderr: "two\n", output: "one\ntwo\nthree\n", outputBytes: 14 });
    expect(result).toMatchObject({ truncated: false, outputFile: null, warnings: [] });
  },

  "S34 merged, the order is exact": async ({ shell }) => {
    const { run } = await shell();
    const result = await run("for i in {1..300}; do echo out $i; echo err $i >&2; done", { merge: true });
    expect(result.output).toBe(Array.from({ length: 300 }, (_, i) => `out ${i + 1}\nerr ${i + 1}\n`).join(""));
    expect([result.stdout === result.output, result.stderr]).toEqual([true, ""]);
  },

  "S34 long output keeps 40 % from the beginning and 60 % from the end, and counts the rest": async ({ shell }) => {
    const { run } = await shell({ keepChars: 1000 });
    const whole = Array.from({ length: 20_000 }, (_, i) => `${i + 1}\n`).join("");
    const result = await run("seq 1 20000");
    const { head, tail, omitted } = parts(result.output);
    expect(result).toMatchObject({ truncated: true, outputBytes: whole.length });
    expect([head, tail]).toEqual([whole.slice(0, 400), whole.slice(-600)]);
    expect(omitted).toBe(whole.length - 1000);
  },

  "S34 the whole output is in a private file, byte for byte": async ({ shell }) => {
    const { run, spillDirectory } = await shell({ keepChars: 1000 });
    const result = await run("for i in {1..100}; do head -c 300 /dev/zero; printf '\\xff\\xc3(%s' $i; echo err >&2; done", { merge: true });
    const file = result.outputFile ?? "";
    const expected = Array.from({ length: 100 }, (_, i) => [Buffer.alloc(300), Buffer.from([0xff, 0xc3]), Buffer.from(`(${i + 1}err\n`)]);
    expect((await readFile(file)).equals(Buffer.concat(expected.flat()))).toBe(true);
    expect(file.startsWith(`${spillDirectory}/`)).toBe(true);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(parts(result.output).place).toBe(`the whole output is in ${file}`);
  },

  "S34 the file has both streams, each whole and in order": async ({ shell }) => {
    const { run } = await shell({ keepChars: 1000 });
    const result = await run("for i in {1..2000}; do echo out $i; echo err $i >&2; done");
    const lines = (await readFile(result.outputFile ?? "", "utf8")).split("\n").slice(0, -1);
    for (const stream of ["out", "err"]) {
      expect(lines.filter((line) => line.startsWith(stream))).toEqual(Array.from({ length: 2000 }, (_, i) => `${stream} ${i + 1}`));
      expect(parts(stream === "out" ? result.stdout : result.stderr).omitted).toBeGreaterThan(0);
    }
  },

  "S34 exactly the limit is not too long, one more is": async ({ shell }) => {
    const { run, spillDirectory } = await shell({ keepChars: 1000 });
    const fits = await run("printf '%1000s' x");
    expect(fits).toMatchObject({ truncated: false, outputFile: null, output: `${" ".repeat(999)}x` });
    const wide = await run("for i in {1..1000}; do printf 漢; done");
    expect(wide).toMatchObject({ truncated: false, outputFile: null, output: "漢".repeat(1000), outputBytes: 3000 });
    expect(await readdir(spillDirectory)).toEqual([]);
    const longer = await run("printf '%1001s' x");
    expect([longer.truncated, parts(longer.output).omitted]).toEqual([true, 1]);
  },

  "S34 characters at the cut stay whole": async ({ shell }) => {
    const { run } = await shell({ keepChars: 1001 });
    for (const character of ["é", "漢", "🙂"]) {
      for (const shift of ["", "a"]) {
        const { output } = await run(`printf '${shift}'; printf '${character}%.0s' {1..3000}`);
        const { head, tail, omitted } = parts(output);
        expect(output).not.toContain("\ufffd");
        expect(output.isWellFormed()).toBe(true);
        expect(head.replace(shift, "").replaceAll(character, "") + tail.replaceAll(character, "")).toBe("");
        expect(omitted).toBe(3000 * Buffer.byteLength(character) + shift.length - Buffer.byteLength(head) - Buffer.byteLength(tail));
      }
    }
  },

  "S34 bytes that are no text are counted right": async ({ shell }) => {
    const { run } = await shell({ keepChars: 1000 });
    const { output } = await run("head -c 10000 /dev/zero | tr '\\0' '\\377'");
    expect(parts(output).omitted).toBe(9000);
  },

  "S34 without overflow files the marker says that nothing was kept": async ({ shell }) => {
    const { run, spillDirectory } = await shell({ keepChars: 1000, spillBytes: 0 });
    const result = await run("seq 1 10000");
    expect(result).toMatchObject({ truncated: true, outputFile: null });
    expect(parts(result.output).place).toBe("they were not kept");
    expect(await readdir(spillDirectory)).toEqual([]);
  },

  "S34 a caller that wants no overflow file gets none": async ({ shell }) => {
    const { run, spillDirectory } = await shell({ keepChars: 1000 });
    const result = await run("seq 1 10000", { overflowFile: false });
    expect(result).toMatchObject({ truncated: true, outputFile: null, warnings: [] });
    expect(parts(result.output).place).toBe("they were not kept");
    expect(await readdir(spillDirectory)).toEqual([]);
  },

  "S34 an overflow file that is full is said in the marker and in a warning": async ({ shell }) => {
    const { run } = await shell({ keepChars: 1000, spillBytes: 5000 });
    const result = await run("seq 1 10000");
    const whole = Array.from({ length: 10_000 }, (_, i) => `${i + 1}\n`).join("");
    expect(await readFile(result.outputFile ?? "", "utf8")).toBe(whole.slice(0, 5000));
    expect(parts(result.output).place).toBe(`its beginning is in ${result.outputFile}: it holds only the first 5000 bytes`);
    expect(result.warnings).toEqual([expect.stringContaining("only the first 5000 bytes")]);
    expect(result.outputBytes).toBe(whole.length);
  },

  "S34 an overflow file that cannot be made is said, and the call goes on": async ({ shell }) => {
    const { run, spillDirectory } = await shell({ keepChars: 1000 });
    await rm(spillDirectory, { recursive: true });
    await writeFile(spillDirectory, "in the way");
    const result = await run("seq 1 10000; echo end >&2; exit 3");
    expect(result).toMatchObject({ exitCode: 3, truncated: true, outputFile: null, stderr: "end\n" });
    expect(result.warnings).toEqual([expect.stringMatching(/overflow file.*(EEXIST|ENOTDIR|not a directory)/)]);
    expect(parts(result.output).place).toContain("they were not kept");
  },

  "S34 the directory of overflow files is made when it is needed": async ({ shell }) => {
    const { run, spillDirectory } = await shell({ keepChars: 1000 });
    await rm(spillDirectory, { recursive: true });
    await run("echo short");
    await expect(stat(spillDirectory)).rejects.toThrow("ENOENT");
    const { outputFile } = await run("seq 1 1000");
    expect(await readdir(spillDirectory)).toEqual([outputFile?.slice(join(spillDirectory, "/").length)]);
  },

  "S34 a caller sees every byte as it comes, beyond all limits": async ({ shell }) => {
    const { run } = await shell({ keepChars: 1000, spillBytes: 0 });
    const chunks: Uint8Array[] = [];
    const result = await run("seq 1 30000", { onOutput: (chunk) => void chunks.push(chunk) });
    expect(Buffer.concat(chunks).toString()).toBe(Array.from({ length: 30_000 }, (_, i) => `${i + 1}\n`).join(""));
    expect(result.truncated).toBe(true);
  },

  "S34 a caller that takes its time holds the command back and loses nothing": async ({ shell }) => {
    const { run } = await shell({ keepChars: 1000 });
    const chunks: Uint8Array[] = [];
    const slow = async (chunk: Uint8Array) => {
      for (let turn = 0; turn < 3; turn++) await new Promise(setImmediate);
      chunks.push(chunk);
    };
    const result = await run("seq 1 100000; exit 5", { onOutput: slow });
    expect(result.exitCode).toBe(5);
    expect(Buffer.concat(chunks)).toHaveLength(result.outputBytes);
    expect((await readFile(result.outputFile ?? "")).equals(Buffer.concat(chunks))).toBe(true);
  },

  "S34 a background process that holds the pipe does not hold the call": async ({ shell }) => {
    const { run, text } = await shell();
    const result = await run("sleep 1000 & echo $!; export A=1");
    expect(result).toMatchObject({ exitCode: 0, timedOut: false });
    await text(`kill ${result.stdout.trim()}`);
    expect(await text("echo $A")).toBe("1");
  },

  "a command that closes its output early runs to its end": async ({ shell }) => {
    const { run, text } = await shell();
    expect(await run("echo seen; exec >&- 2>&-; export A=1; echo lost; exit 6")).toMatchObject({ exitCode: 6, output: "seen\n" });
    expect(await text("echo $A")).toBe("1");
  },
};
