/**
 * The one-time authenticator of RFC 8439: a polynomial over the blocks of a message, modulo 2^130 - 5, plus a pad. The
 * key has 32 bytes and must be used for one message only.
 *
 * Numbers are ten limbs of 13 bits, so that a sum of ten products stays below 2^53 and needs no BigInt.
 */
export function poly1305(message: Uint8Array, key: Uint8Array): Uint8Array {
  const r = limbsOf(clamped(key), 0);
  const sum = new Float64Array(limbs);
  const block = new Uint8Array(17);
  for (let at = 0; at < message.length; at += 16) {
    block.fill(0);
    const part = message.subarray(at, at + 16);
    block.set(part);
    block[part.length] = 1;
    const read = limbsOf(block, block[16] ?? 0);
    for (let n = 0; n < limbs; n++) sum[n] = (sum[n] ?? 0) + (read[n] ?? 0);
    multiply(sum, r);
  }
  return tagOf(sum, key);
}

const limbs = 10;
const limbBits = 13;
const limbMask = 0x1fff;
const limbSize = 0x2000;

/** Some bits of the multiplier must be zero. */
function clamped(key: Uint8Array): Uint8Array {
  const r = Uint8Array.from(key.subarray(0, 16));
  for (const at of [3, 7, 11, 15]) r[at] = (r[at] ?? 0) & 15;
  for (const at of [4, 8, 12]) r[at] = (r[at] ?? 0) & 252;
  return r;
}

/** Sixteen little-endian bytes, and the bits above them. */
function limbsOf(bytes: Uint8Array, high: number): Float64Array {
  const out = new Float64Array(limbs);
  for (let n = 0; n < limbs; n++) {
    const bit = n * limbBits;
    const at = bit >> 3;
    const byte = (place: number): number => (place < 16 ? (bytes[place] ?? 0) : place === 16 ? high : 0);
    out[n] = ((byte(at) | (byte(at + 1) << 8) | (byte(at + 2) << 16)) >>> (bit & 7)) & limbMask;
  }
  return out;
}

/** sum = sum * r, reduced so far that the next product still fits. */
function multiply(sum: Float64Array, r: Float64Array): void {
  const product = new Float64Array(limbs);
  for (let n = 0; n < limbs; n++) {
    let total = 0;
    for (let m = 0; m < limbs; m++) {
      // What overflows 2^130 comes back five times.
      const other = n - m >= 0 ? (r[n - m] ?? 0) : 5 * (r[n - m + limbs] ?? 0);
      total += (sum[m] ?? 0) * other;
    }
    product[n] = total;
  }
  carry(product);
  sum.set(product);
}

function carry(number: Float64Array): void {
  for (let pass = 0; pass < 2; pass++) {
    let over = 0;
    for (let n = 0; n < limbs; n++) {
      const total = (number[n] ?? 0) + over;
      over = Math.floor(total / limbSize);
      number[n] = total - over * limbSize;
    }
    number[0] = (number[0] ?? 0) + over * 5;
  }
}

function tagOf(sum: Float64Array, key: Uint8Array): Uint8Array {
  carry(sum);
  let total = 0n;
  for (let n = limbs - 1; n >= 0; n--) total = (total << BigInt(limbBits)) + BigInt(sum[n] ?? 0);
  total %= (1n << 130n) - 5n;
  const pad = key.subarray(16, 32);
  for (let n = 15; n >= 0; n--) total += BigInt(pad[n] ?? 0) << BigInt(8 * n);
  const tag = new Uint8Array(16);
  for (let n = 0; n < 16; n++) tag[n] = Number((total >> BigInt(8 * n)) & 255n);
  return tag;
}
