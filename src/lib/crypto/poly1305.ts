/**
 * The one-time authenticator of RFC 8439: a polynomial over the blocks of a message, modulo 2^130 - 5, plus a pad. The
 * key has 32 bytes and must be used for one message only.
 *
 * Numbers are six limbs of 22 bits, so that a sum of six products stays below 2^53 and needs no BigInt.
 */
export function poly1305(message: Uint8Array, key: Uint8Array): Uint8Array {
  const factor = factorOf(key);
  const sum = new Float64Array(limbs);
  const view = new DataView(message.buffer, message.byteOffset, message.byteLength);
  const whole = message.length - (message.length % blockBytes);
  for (let at = 0; at < whole; at += blockBytes) {
    addBlock(sum, view, at, 1);
    multiply(sum, factor);
  }
  if (whole < message.length) {
    const last = new Uint8Array(blockBytes);
    last.set(message.subarray(whole));
    last[message.length - whole] = 1;
    addBlock(sum, new DataView(last.buffer), 0, 0);
    multiply(sum, factor);
  }
  return tagOf(sum, key);
}

const blockBytes = 16;
const limbs = 6;
const limbBits = 22;
const limbMask = 0x3fffff;
const limbSize = 0x400000;
/** 2^132 is four times 2^130, and that is 5 modulo the prime. */
const wrapped = 20;

/** Some bits of the multiplier must be zero. */
function factorOf(key: Uint8Array): Float64Array {
  const clamped = Uint8Array.from(key.subarray(0, blockBytes));
  for (const at of [3, 7, 11, 15]) clamped[at] = (clamped[at] ?? 0) & 15;
  for (const at of [4, 8, 12]) clamped[at] = (clamped[at] ?? 0) & 252;
  const factor = new Float64Array(limbs);
  addBlock(factor, new DataView(clamped.buffer), 0, 0);
  return factor;
}

/** Adds 16 little-endian bytes, and the bit above them. */
function addBlock(to: Float64Array, view: DataView, at: number, high: number): void {
  const a = view.getUint32(at, true);
  const b = view.getUint32(at + 4, true);
  const c = view.getUint32(at + 8, true);
  const d = view.getUint32(at + 12, true);
  to[0] = (to[0] ?? 0) + (a & limbMask);
  to[1] = (to[1] ?? 0) + (((a >>> 22) | (b << 10)) & limbMask);
  to[2] = (to[2] ?? 0) + (((b >>> 12) | (c << 20)) & limbMask);
  to[3] = (to[3] ?? 0) + ((c >>> 2) & limbMask);
  to[4] = (to[4] ?? 0) + (((c >>> 24) | (d << 8)) & limbMask);
  to[5] = (to[5] ?? 0) + ((d >>> 14) | (high << 18));
}

/** sum = sum * factor, reduced so far that the next product still fits. Written out, because it is done for every block. */
function multiply(sum: Float64Array, factor: Float64Array): void {
  const s0 = sum[0] ?? 0;
  const s1 = sum[1] ?? 0;
  const s2 = sum[2] ?? 0;
  const s3 = sum[3] ?? 0;
  const s4 = sum[4] ?? 0;
  const s5 = sum[5] ?? 0;
  const f0 = factor[0] ?? 0;
  const f1 = factor[1] ?? 0;
  const f2 = factor[2] ?? 0;
  const f3 = factor[3] ?? 0;
  const f4 = factor[4] ?? 0;
  const f5 = factor[5] ?? 0;
  // What is beyond the highest limb comes back at the lowest.
  const w1 = f1 * wrapped;
  const w2 = f2 * wrapped;
  const w3 = f3 * wrapped;
  const w4 = f4 * wrapped;
  const w5 = f5 * wrapped;
  sum[0] = s0 * f0 + s1 * w5 + s2 * w4 + s3 * w3 + s4 * w2 + s5 * w1;
  sum[1] = s0 * f1 + s1 * f0 + s2 * w5 + s3 * w4 + s4 * w3 + s5 * w2;
  sum[2] = s0 * f2 + s1 * f1 + s2 * f0 + s3 * w5 + s4 * w4 + s5 * w3;
  sum[3] = s0 * f3 + s1 * f2 + s2 * f1 + s3 * f0 + s4 * w5 + s5 * w4;
  sum[4] = s0 * f4 + s1 * f3 + s2 * f2 + s3 * f1 + s4 * f0 + s5 * w5;
  sum[5] = s0 * f5 + s1 * f4 + s2 * f3 + s3 * f2 + s4 * f1 + s5 * f0;
  carry(sum);
}

function carry(number: Float64Array): void {
  let over = 0;
  for (let n = 0; n < limbs; n++) {
    const total = (number[n] ?? 0) + over;
    over = Math.floor(total / limbSize);
    number[n] = total - over * limbSize;
  }
  const first = (number[0] ?? 0) + over * wrapped;
  over = Math.floor(first / limbSize);
  number[0] = first - over * limbSize;
  number[1] = (number[1] ?? 0) + over;
}

function tagOf(sum: Float64Array, key: Uint8Array): Uint8Array {
  let total = 0n;
  for (let n = limbs - 1; n >= 0; n--) total = (total << BigInt(limbBits)) + BigInt(sum[n] ?? 0);
  total %= (1n << 130n) - 5n;
  const pad = key.subarray(blockBytes, 2 * blockBytes);
  for (let n = 15; n >= 0; n--) total += BigInt(pad[n] ?? 0) << BigInt(8 * n);
  const tag = new Uint8Array(blockBytes);
  for (let n = 0; n < blockBytes; n++) tag[n] = Number((total >> BigInt(8 * n)) & 255n);
  return tag;
}
