import {
  canonicalQuantity,
  isNegativeQuantity,
  isZeroQuantity,
  quantityOf,
  quantityValue,
} from "#api/meta/quantity.ts";
import { isSignal, type Observation, type Signal } from "./signals.ts";

/** An amount, or a share of the capacity. */
export type ThresholdValue = { readonly quantity: string } | { readonly share: number };

/** Eviction begins when less than this is left of a resource. */
export interface Threshold {
  readonly signal: Signal;
  readonly value: ThresholdValue;
  /** For how long it must be met; 0 for a hard threshold. */
  readonly graceMs: number;
  /** How much more than the threshold must be free before eviction ends. */
  readonly minReclaim?: ThresholdValue;
}

export const isHard = ({ graceMs }: Threshold): boolean => graceMs === 0;

/** Upstream's hard thresholds for Linux. */
export const defaultEvictionHard: Readonly<Record<string, string>> = {
  "memory.available": "100Mi",
  "nodefs.available": "10%",
  "nodefs.inodesFree": "5%",
  "imagefs.available": "15%",
  "imagefs.inodesFree": "5%",
};

/** For a disk that is not only the node's: less of it has to be free. */
export const sharedDiskThresholds: Readonly<Record<string, string>> = {
  ...defaultEvictionHard,
  "nodefs.available": "5%",
  "imagefs.available": "5%",
};

export function checkSignal(signal: string): Signal {
  if (!isSignal(signal)) throw new Error(`unsupported eviction signal ${signal}`);
  return signal;
}

/** Reads a threshold. Undefined for 0% and 100%, which turn a signal off. */
export function parseThresholdValue(signal: string, text: string): ThresholdValue | undefined {
  checkSignal(signal);
  if (text === "0%" || text === "100%") return undefined;
  if (text.endsWith("%")) {
    const share = parseShare(text);
    if (share < 0) throw new Error(`eviction percentage threshold ${signal} must be >= 0%: ${text}`);
    if (share > 1) throw new Error(`eviction percentage threshold ${signal} must be <= 100%: ${text}`);
    return { share };
  }
  if (isNegativeQuantity(text) || isZeroQuantity(text)) {
    throw new Error(`eviction threshold ${signal} must be positive: ${canonicalQuantity(text)}`);
  }
  return { quantity: canonicalQuantity(text) };
}

export function parseMinimumReclaim(signal: string, text: string): ThresholdValue {
  checkSignal(signal);
  if (text.endsWith("%")) {
    const share = parseShare(text);
    if (share <= 0) throw new Error(`eviction percentage minimum reclaim ${signal} must be positive: ${text}`);
    return { share };
  }
  if (isNegativeQuantity(text)) throw new Error(`negative eviction minimum reclaim specified for ${signal}`);
  return { quantity: canonicalQuantity(text) };
}

/** Upstream counts in single precision, and its messages show the products. */
function parseShare(text: string): number {
  const digits = text.slice(0, -1);
  if (!/^[+-]?(\d{1,15}(\.\d{0,15})?|\.\d{1,15})$/.test(digits)) throw new Error(`${text} is not a percentage`);
  return Math.fround(Math.fround(Number(digits)) / 100);
}

export interface ThresholdTexts {
  readonly hard: Readonly<Record<string, string>>;
  readonly soft: Readonly<Record<string, string>>;
  readonly softGraceMs: Readonly<Record<string, number>>;
  readonly minimumReclaim: Readonly<Record<string, string>>;
  /** Whether the memory of all pods together is limited, and its threshold applies to that limit too. */
  readonly limitsPods: boolean;
}

/** The thresholds of a configuration that has been checked. */
export function createThresholds(texts: ThresholdTexts): Threshold[] {
  const { hard, soft, softGraceMs, minimumReclaim, limitsPods } = texts;
  const read = (from: Readonly<Record<string, string>>, graceOf: (signal: string) => number) =>
    Object.entries(from).flatMap(([signal, text]): Threshold[] => {
      const value = parseThresholdValue(signal, text);
      const reclaim = minimumReclaim[signal];
      const more = reclaim === undefined ? {} : { minReclaim: parseMinimumReclaim(signal, reclaim) };
      return value ? [{ signal: checkSignal(signal), value, graceMs: graceOf(signal), ...more }] : [];
    });
  const all = [...read(hard, () => 0), ...read(soft, (signal) => softGraceMs[signal] ?? 0)];
  const memory = all.filter((one) => one.signal === "memory.available" && isHard(one));
  return limitsPods
    ? [...all, ...memory.map((one) => ({ ...one, signal: "allocatableMemory.available" }) as const)]
    : all;
}

/** Containers write to the disk of images if there is one, so its thresholds apply to them, and own ones are ignored. */
export function withContainerFs(thresholds: readonly Threshold[], hasImageDisk: boolean): Threshold[] {
  const from = hasImageDisk ? "imagefs" : "nodefs";
  const copies = thresholds.flatMap((one): Threshold[] => {
    if (one.signal === `${from}.available`) return [{ ...one, signal: "containerfs.available" }];
    return one.signal === `${from}.inodesFree` ? [{ ...one, signal: "containerfs.inodesFree" }] : [];
  });
  return [...thresholds.filter(({ signal }) => !signal.startsWith("containerfs.")), ...copies];
}

/** The amount that a value stands for, given the capacity. */
export const amountOf = (value: ThresholdValue, { capacity }: Observation): number =>
  "quantity" in value ? quantityValue(value.quantity) : Math.floor(capacity * value.share);

/** The same for messages. */
export const renderAmount = (value: ThresholdValue, observation: Observation): string =>
  "quantity" in value ? value.quantity : quantityOf(amountOf(value, observation), "binary");
