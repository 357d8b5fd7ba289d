/** Salsa20/20 by Bernstein, and the HSalsa20 step that extends its nonce to 24 bytes. Node has neither. */

const rounds = 20;
/** "expand 32-byte k" in four little-endian words. */
const constants = [0x61707865, 0x3320646e, 0x79622d32, 0x6b206574] as const;
const blockBytes = 64;

/** XORs the key stream into the bytes, in place. The key has 32 bytes, the nonce 24. */
export function xsalsa20(bytes: Uint8Array, key: Uint8Array, nonce: Uint8Array): void {
  const state = stateOf(hsalsa20(key, nonce.subarray(0, 16)), nonce.subarray(16, 24));
  const block = new Int32Array(16);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const whole = bytes.length - (bytes.length % blockBytes);
  for (let at = 0; at < whole; at += blockBytes) {
    nextBlock(state, block);
    for (let word = 0; word < 16; word++) {
      const place = at + word * 4;
      view.setInt32(place, view.getInt32(place, true) ^ (block[word] ?? 0), true);
    }
  }
  nextBlock(state, block);
  const stream = new DataView(new ArrayBuffer(blockBytes));
  for (let word = 0; word < 16; word++) stream.setInt32(word * 4, block[word] ?? 0, true);
  for (let at = whole; at < bytes.length; at++) bytes[at] = (bytes[at] ?? 0) ^ stream.getUint8(at - whole);
}

/** The next 64 bytes of the key stream. */
function nextBlock(state: Int32Array, block: Int32Array): void {
  scramble(state, block);
  for (let word = 0; word < 16; word++) block[word] = (block[word] ?? 0) + (state[word] ?? 0);
  const low = ((state[8] ?? 0) + 1) | 0;
  state[8] = low;
  if (low === 0) state[9] = (state[9] ?? 0) + 1;
}

/** A key for one nonce. */
function hsalsa20(key: Uint8Array, nonce: Uint8Array): Uint8Array {
  const state = new Int32Array(16);
  fillKey(state, key);
  for (let word = 0; word < 4; word++) state[6 + word] = loadWord(nonce, word * 4);
  const block = new Int32Array(16);
  scramble(state, block);
  const derived = new Uint8Array(32);
  for (const [word, from] of [0, 5, 10, 15, 6, 7, 8, 9].entries()) storeWord(derived, word * 4, block[from] ?? 0);
  return derived;
}

function stateOf(key: Uint8Array, nonce: Uint8Array): Int32Array {
  const state = new Int32Array(16);
  fillKey(state, key);
  state[6] = loadWord(nonce, 0);
  state[7] = loadWord(nonce, 4);
  return state;
}

function fillKey(state: Int32Array, key: Uint8Array): void {
  for (const [n, place] of [0, 5, 10, 15].entries()) state[place] = constants[n] ?? 0;
  for (let word = 0; word < 4; word++) {
    state[1 + word] = loadWord(key, word * 4);
    state[11 + word] = loadWord(key, 16 + word * 4);
  }
}

/** The columns and then the rows of the 4x4 state, ten times. */
function scramble(state: Int32Array, x: Int32Array): void {
  x.set(state);
  for (let round = 0; round < rounds; round += 2) {
    quarter(x, 0, 4, 8, 12);
    quarter(x, 5, 9, 13, 1);
    quarter(x, 10, 14, 2, 6);
    quarter(x, 15, 3, 7, 11);
    quarter(x, 0, 1, 2, 3);
    quarter(x, 5, 6, 7, 4);
    quarter(x, 10, 11, 8, 9);
    quarter(x, 15, 12, 13, 14);
  }
}

function quarter(x: Int32Array, a: number, b: number, c: number, d: number): void {
  const first = x[a] ?? 0;
  const fourth = x[d] ?? 0;
  const nextB = (x[b] ?? 0) ^ rotate((first + fourth) | 0, 7);
  const nextC = (x[c] ?? 0) ^ rotate((nextB + first) | 0, 9);
  const nextD = fourth ^ rotate((nextC + nextB) | 0, 13);
  x[a] = first ^ rotate((nextD + nextC) | 0, 18);
  x[b] = nextB;
  x[c] = nextC;
  x[d] = nextD;
}

const rotate = (word: number, bits: number): number => (word << bits) | (word >>> (32 - bits));

const loadWord = (bytes: Uint8Array, at: number): number =>
  (bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8) | ((bytes[at + 2] ?? 0) << 16) | ((bytes[at + 3] ?? 0) << 24);

function storeWord(bytes: Uint8Array, at: number, word: number): void {
  bytes[at] = word;
  bytes[at + 1] = word >>> 8;
  bytes[at + 2] = word >>> 16;
  bytes[at + 3] = word >>> 24;
}
