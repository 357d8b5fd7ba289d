import { randomInt } from "node:crypto";

/** A source of random numbers from 0 up to, but not including, 1. Tests use a seeded one. */
export type Random = () => number;

export const systemRandom: Random = () => Math.random();

/** For values that others must not guess. */
export const secureRandom: Random = () => randomInt(2 ** 32) / 2 ** 32;

/** Can go on from where it was, or where another one with the same seed was. */
export interface SeededRandom extends Random {
  save(): number;
  restore(saved: number): void;
}

/** Returns the same numbers for the same seed (mulberry32). */
export function seededRandom(seed: number): SeededRandom {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const restore = (saved: number): void => {
    state = saved;
  };
  return Object.assign(next, { save: () => state, restore });
}

/** Has the form of a uid. Not for secrets. */
export function randomUid(random: Random): string {
  const hex = randomHex(random, 16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20)}`;
}

/** Lower-case hex digits, two for each byte. Not for secrets. */
export function randomHex(random: Random, bytes: number): string {
  let hex = "";
  while (hex.length < bytes * 2) hex += ((random() * 2 ** 32) >>> 0).toString(16).padStart(8, "0");
  return hex.slice(0, bytes * 2);
}

/** The letters of generated names: without vowels and the digits that look like them, so that no words result. */
export const nameLetters = "bcdfghjklmnpqrstvwxz2456789";

/** The end of a generated name. */
export function randomSuffix(random: Random): string {
  let suffix = "";
  for (let at = 0; at < 5; at++) suffix += nameLetters[Math.floor(random() * nameLetters.length)] ?? "";
  return suffix;
}
