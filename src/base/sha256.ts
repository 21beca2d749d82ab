/**
 * @module SHA-256 and HMAC over it, for a few short texts per start of the program. node:crypto is a thousand times faster once it is there,
 * but loading it takes 6 ms, a tenth of what a whole `holdfast exec` may take.
 */
const BLOCK_BYTES = 64;

/** Fractional parts of the square roots and the cube roots of the first primes (FIPS 180-4). */
const INITIAL = [0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19];
const ROUND = [
  0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be,
  0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa,
  0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85,
  0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
  0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f,
  0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
];

const schedule = new Uint32Array(ROUND.length);

export function sha256(...parts: readonly (string | Uint8Array)[]): Buffer {
  const message = Buffer.concat(parts.map((part) => Buffer.from(part)));
  // A one bit, zeros up to the end of a block, and the length in bits.
  const padded = Buffer.alloc((Math.floor((message.length + 8) / BLOCK_BYTES) + 1) * BLOCK_BYTES);
  message.copy(padded);
  padded.writeUInt8(0x80, message.length);
  padded.writeBigUInt64BE(BigInt(message.length) * 8n, padded.length - 8);

  const state = Uint32Array.from(INITIAL);
  for (let offset = 0; offset < padded.length; offset += BLOCK_BYTES) addBlock(state, padded.subarray(offset, offset + BLOCK_BYTES));
  const digest = Buffer.alloc(32);
  for (const [index, word] of state.entries()) digest.writeUInt32BE(word, index * 4);
  return digest;
}

/** `key` is no longer than a block. */
export function hmacSha256(key: Uint8Array, ...parts: readonly (string | Uint8Array)[]): Buffer {
  const pad = (byte: number) => Buffer.alloc(BLOCK_BYTES, byte).map((value, index) => value ^ (key[index] ?? 0));
  return sha256(pad(0x5c), sha256(pad(0x36), ...parts));
}

/** In the same time whatever the bytes are, so that nobody can guess them one by one. */
export function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  let difference = a.length ^ b.length;
  a.forEach((byte, index) => {
    difference |= byte ^ (b[index] ?? 0);
  });
  return difference === 0;
}

/** Plain loops over numbers: nearly all of the time goes here, before anything is compiled. */
function addBlock(state: Uint32Array, block: Buffer): void {
  for (let i = 0; i < 16; i++) schedule[i] = block.readUInt32BE(i * 4);
  for (let i = 16; i < 64; i++) {
    const early = schedule[i - 15] as number;
    const late = schedule[i - 2] as number;
    const s0 = ((early >>> 7) | (early << 25)) ^ ((early >>> 18) | (early << 14)) ^ (early >>> 3);
    const s1 = ((late >>> 17) | (late << 15)) ^ ((late >>> 19) | (late << 13)) ^ (late >>> 10);
    schedule[i] = (schedule[i - 16] as number) + s0 + (schedule[i - 7] as number) + s1;
  }
  let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = state;
  for (let i = 0; i < 64; i++) {
    const s1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
    const first = (h + s1 + ((e & f) ^ (~e & g)) + (ROUND[i] as number) + (schedule[i] as number)) | 0;
    const s0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
    const second = s0 + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = (d + first) | 0;
    d = c;
    c = b;
    b = a;
    a = (first + second) | 0;
  }
  for (const [i, value] of [a, b, c, d, e, f, g, h].entries()) state[i] = (state[i] as number) + value;
}
