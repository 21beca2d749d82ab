import { createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { soakCount } from "../../../test/helpers/soak.ts";
import { createFrameParser, createReader, createWriter, encodeFrame, LONGEST_FRAME } from "./wire.ts";

interface Vectors {
  readonly secret: string;
  readonly clientNonce: string;
  readonly daemonNonce: string;
  readonly daemonProof: string;
  readonly clientProof: string;
  readonly frames: readonly Vector[];
}

interface Vector {
  readonly name: string;
  readonly type: number;
  readonly channel: number;
  readonly hex: string;
  /** Numbers of 64 bits are texts. */
  readonly fields: Readonly<Record<string, unknown>>;
}

/** The fields of some frames, in their order. */
const FIELDS: Readonly<Record<string, readonly (readonly [name: string, kind: "u8" | "u16" | "u32" | "u64" | "str" | "list"])[]>> = {
  START: [
    ["kind", "u8"],
    ["flags", "u8"],
    ["timeout", "u32"],
    ["grace", "u32"],
    ["credit", "u32"],
    ["rows", "u16"],
    ["cols", "u16"],
    ["cap", "u64"],
    ["cwd", "str"],
    ["state", "str"],
    ["processName", "str"],
    ["shown", "str"],
    ["argv", "list"],
    ["env", "list"],
  ],
  PROCESS: [
    ["id", "str"],
    ["processName", "str"],
    ["pid", "u32"],
    ["state", "u8"],
    ["code", "u8"],
    ["signal", "u8"],
    ["cause", "u8"],
    ["pty", "u8"],
    ["input", "u8"],
    ["started", "u64"],
    ["ended", "u64"],
    ["bytes", "u64"],
    ["command", "str"],
  ],
};

const vectors: Vectors = JSON.parse(readFileSync(new URL("../../../holdfastd/test/vectors.json", import.meta.url), "utf8"));

describe("the frames that both sides agree on", () => {
  test.for(vectors.frames)("$name of type $type", ({ type, channel, hex }) => {
    const bytes = Buffer.from(hex, "hex");
    const [frame, ...others] = createFrameParser().push(bytes);
    expect(others).toEqual([]);
    expect({ type: frame?.type, channel: frame?.channel }).toEqual({ type, channel });
    expect(encodeFrame(type, channel, frame?.payload).toString("hex")).toBe(hex);
  });

  test.for(vectors.frames.filter(({ name }) => name in FIELDS))("the fields of $name on channel $channel", ({ name, hex, fields }) => {
    const reader = createReader(Buffer.from(hex, "hex").subarray(9));
    const read = Object.fromEntries(
      (FIELDS[name] ?? []).map(([field, kind]) => [field, kind === "u64" ? `${reader.u64()}` : reader[kind]()]),
    );
    reader.end();
    expect(read).toEqual(fields);
  });

  test("the proofs of the handshake", () => {
    const [secret, client, daemon] = [vectors.secret, vectors.clientNonce, vectors.daemonNonce].map((hex) => Buffer.from(hex, "hex"));
    const mac = (who: string, ...nonces: (Buffer | undefined)[]) =>
      createHmac("sha256", secret ?? "")
        .update(Buffer.concat([Buffer.from(who), ...nonces.map((nonce) => nonce ?? Buffer.alloc(0))]))
        .digest("hex");
    expect(mac("daemon", client, daemon)).toBe(vectors.daemonProof);
    expect(mac("client", daemon, client)).toBe(vectors.clientProof);
  });
});

const frame = fc.record({ type: fc.nat(255), channel: fc.nat(0xffffffff), payload: fc.uint8Array({ maxLength: 300 }) });

test("frames come out as they went in, however their bytes are cut", () => {
  fc.assert(
    fc.property(fc.array(frame, { maxLength: 8 }), fc.array(fc.nat(60), { maxLength: 60 }), (frames, cuts) => {
      let rest = Buffer.concat(frames.map(({ type, channel, payload }) => encodeFrame(type, channel, payload)));
      const parser = createFrameParser();
      const found = [];
      for (const cut of [...cuts, rest.length]) {
        found.push(...parser.push(rest.subarray(0, cut)));
        rest = rest.subarray(cut);
      }
      found.push(...parser.push(rest));
      expect(found.map(({ type, channel, payload }) => ({ type, channel, payload: Uint8Array.from(payload) }))).toEqual(frames);
    }),
  );
});

test("whatever bytes come, they are frames, not yet a frame, or a broken protocol", () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 20 }), (chunks) => {
      const parser = createFrameParser();
      try {
        for (const chunk of chunks) for (const { payload } of parser.push(chunk)) readAnything(payload);
      } catch (error) {
        expect(error).toMatchObject({ code: "protocol" });
      }
    }),
    { numRuns: soakCount("fuzzed bytes from a daemon", { check: 10_000, soak: 100_000 }) },
  );
}, 600_000);

test.for([0, 4, LONGEST_FRAME + 1, 0xffffffff])("a length of %i is refused before anything is kept", (length) => {
  const header = Buffer.alloc(9);
  header.writeUInt32LE(length);
  expect(() => createFrameParser().push(header)).toThrow("does not allow");
});

test("fields come out as they went in, and nothing may be left over or missing", () => {
  const payload = createWriter().u8(1).u16(2).u32(3).u64(4).str("é").list(["a", "", "b"]).done();
  const reader = createReader(payload);
  expect([reader.u8(), reader.u16(), reader.u32(), reader.u64(), reader.str(), reader.list()]).toEqual([1, 2, 3, 4, "é", ["a", "", "b"]]);
  reader.end();
  expect(() => createReader(payload).end()).toThrow("too long");
  expect(() => createReader(payload.subarray(0, 3)).u32()).toThrow("too short");
  expect(() => createReader(createWriter().u32(0xffffffff).done()).list()).toThrow("longer than its message");
  expect(() => createReader(Buffer.alloc(8, 0xff)).u64()).toThrow("beyond all sense");
});

function readAnything(payload: Buffer): void {
  const reader = createReader(payload);
  reader.u8();
  reader.str();
  reader.list();
  reader.end();
}
