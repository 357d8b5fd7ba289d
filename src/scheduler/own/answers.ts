import { type Rejection } from "../framework.ts";

/** A wrong answer of a user's plugin would fail later, where nobody knows the plugin any more, or spoil the choice of nodes. */
export function checkAnswer(hook: string, answer: unknown, { isScaled }: { readonly isScaled: boolean }): void {
  const wanted = wantedAnswers[hook];
  if (hook === "score") checkScore(answer, isScaled);
  else if (wanted && answer && !wanted.isRight(answer)) {
    throw new TypeError(`it must return ${wanted.text}, not ${textOf(answer)}`);
  }
}

/** The scores after `normalize`, which changes them in place. */
export function checkScores(scores: Float64Array): void {
  for (const score of scores) checkScore(score, false);
}

function checkScore(score: unknown, isScaled: boolean): void {
  // Without an answer, a node scores 0.
  if (score === undefined) return;
  const isRight = isScaled ? Number.isFinite(score) : typeof score === "number" && score >= 0 && score <= 100;
  if (isRight) return;
  throw new TypeError(`a score must be ${isScaled ? "a number" : "a number from 0 to 100"}, not ${textOf(score)}`);
}

interface Wanted {
  readonly text: string;
  isRight(answer: unknown): boolean;
}

const rejection = 'undefined or { reasons: ["why"], isFinal: false }';
/** What counts as no, such as null, is taken for undefined. */
const wantedAnswers: Readonly<Record<string, Wanted>> = {
  filter: { text: rejection, isRight: isRejection },
  candidates: {
    text: `a Set of names, ${rejection}`,
    isRight: (answer) => isRejection(answer) || answer instanceof Set,
  },
  permit: { text: `{ waitMs: 1000 }, ${rejection}`, isRight: (answer) => isRejection(answer) || isWait(answer) },
};

function isRejection(answer: unknown): answer is Rejection {
  const { reasons } = answer as { readonly reasons?: unknown };
  return Array.isArray(reasons) && reasons.every((reason) => typeof reason === "string");
}

const isWait = (answer: unknown): boolean =>
  Number.isFinite((answer as { readonly waitMs?: unknown }).waitMs) && !("reasons" in (answer as object));

const maxText = 100;
function textOf(answer: unknown): string {
  if (answer instanceof Promise) return "a promise";
  if (typeof answer === "number") return String(answer);
  if (typeof answer === "function") return "a function";
  const text = String(JSON.stringify(answer));
  return text.length > maxText ? `${text.slice(0, maxText)}…` : text;
}
