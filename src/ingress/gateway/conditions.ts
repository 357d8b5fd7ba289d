import { equal } from "#lib/data/equal.ts";
import { type Condition } from "./kinds.ts";

/** A condition before it is written: without times. */
export interface Finding {
  readonly type: string;
  readonly isTrue: boolean;
  readonly reason: string;
  readonly message?: string;
}

export const good = (type: string, reason: string = type): Finding => ({ type, isTrue: true, reason });
export const bad = (type: string, reason: string, message: string): Finding => ({
  type,
  isTrue: false,
  reason,
  message,
});

export interface Written {
  readonly known: readonly Condition[] | undefined;
  readonly generation: number;
  /** RFC 3339. */
  readonly now: string;
}

/** The conditions to write. Those that are the same keep their time, and those of others stay. */
export function renderConditions(findings: readonly Finding[], { known = [], generation, now }: Written): Condition[] {
  const own = findings.map(({ type, isTrue, reason, message = "" }): Condition => {
    const status = isTrue ? "True" : "False";
    const before = known.find((one) => one.type === type);
    const lastTransitionTime = before?.status === status ? before.lastTransitionTime : now;
    return { type, status, reason, message, lastTransitionTime, observedGeneration: generation };
  });
  const others = known.filter(({ type }) => !findings.some((finding) => finding.type === type));
  const all = [...others, ...own];
  return equal(all, known) ? [...known] : all;
}
