import { isDeepStrictEqual } from "node:util";
import { normalise, normaliseText } from "./normalise.ts";
import { type Answer } from "./step.ts";

/** One way in which two answers differ. */
export interface Difference {
  /** `code`, `cause`, `object spec.replicas` …; differences of one kind have probably one reason. */
  readonly kind: string;
  readonly upstream: string;
  readonly ours: string;
}

/** Decodes a body that is not JSON, such as protobuf. */
export type Decode = (answer: Answer) => unknown;

export function compareAnswers(upstream: Answer, ours: Answer, decode: Decode): readonly Difference[] {
  const found = [...compareHeads(upstream, ours)];
  const left = normalise(decode(upstream));
  const right = normalise(decode(ours));
  if (isStatus(left) && isStatus(right)) found.push(...compareStatus(left, right));
  else if (upstream.code === ours.code) found.push(...compareTrees(left, right, ""));
  else if (found.length > 0) found[0] = { ...(found[0] as Difference), ...bothSides(left, right, upstream, ours) };
  return found;
}

function* compareHeads(upstream: Answer, ours: Answer): Generator<Difference> {
  if (upstream.code !== ours.code) {
    yield {
      kind: `code ${upstream.code}, ours ${ours.code}`,
      upstream: String(upstream.code),
      ours: String(ours.code),
    };
  }
  if (upstream.type !== ours.type) yield { kind: "content type", upstream: upstream.type, ours: ours.type };
  if (upstream.allow !== ours.allow) yield { kind: "allow header", upstream: upstream.allow, ours: ours.allow };
  yield* compareSets("warning", upstream.warnings.map(normaliseText), ours.warnings.map(normaliseText));
}

const bothSides = (left: unknown, right: unknown, upstream: Answer, ours: Answer) => ({
  upstream: `${upstream.code} ${short(left)}`,
  ours: `${ours.code} ${short(right)}`,
});

interface StatusBody {
  readonly kind: "Status";
  readonly reason?: string;
  readonly message?: string;
  readonly details?: { readonly causes?: readonly Cause[] };
}
interface Cause {
  readonly reason?: string;
  readonly message?: string;
  readonly field?: string;
}

const isStatus = (body: unknown): body is StatusBody =>
  typeof body === "object" && body !== null && "kind" in body && body.kind === "Status" && "code" in body;

function* compareStatus(upstream: StatusBody, ours: StatusBody): Generator<Difference> {
  const { details: { causes: theirs = [], ...theirDetails } = {}, message = "", ...theirRest } = upstream;
  const { details: { causes: mine = [], ...myDetails } = {}, message: myMessage = "", ...myRest } = ours;
  yield* compareTrees(theirRest, myRest, "status");
  yield* compareTrees(theirDetails, myDetails, "details");
  const differing = [...compareSets("cause", [...new Set(theirs.map(causeText))], [...new Set(mine.map(causeText))])];
  yield* differing;
  if (differing.length > 0) return;
  // The message lists the causes, so it says nothing more.
  if (theirs.length !== mine.length) yield { kind: "repeated causes", upstream: message, ours: myMessage };
  else if (!isDeepStrictEqual(theirs, mine)) yield { kind: "order of causes", upstream: message, ours: myMessage };
  else if (message !== myMessage) yield { kind: `message ${generic(message)}`, upstream: message, ours: myMessage };
}

const causeText = ({ reason, field, message }: Cause): string => `${field}: ${reason}: ${message}`;

/** What only one side has; where both have one at the same field, these are shown together. */
function* compareSets(kind: string, upstream: readonly string[], ours: readonly string[]): Generator<Difference> {
  const missing = without(upstream, ours);
  const extra = without(ours, upstream);
  for (const text of missing) {
    const at = extra.findIndex((other) => fieldOf(other) === fieldOf(text));
    const other = at < 0 ? "" : (extra.splice(at, 1)[0] ?? "");
    yield { kind: `${kind} ${other ? "other" : "missing"} ${generic(text)}`, upstream: text, ours: other };
  }
  for (const text of extra) yield { kind: `${kind} too much ${generic(text)}`, upstream: "", ours: text };
}

const fieldOf = (text: string): string => text.slice(0, text.indexOf(": "));

function without(texts: readonly string[], others: readonly string[]): string[] {
  const left = [...others];
  return texts.filter((text) => {
    const at = left.indexOf(text);
    if (at >= 0) left.splice(at, 1);
    return at < 0;
  });
}

/** A text without the values in it, so that the same complaint about two values is one kind. */
export const generic = (text: string): string =>
  text
    .replace(/"(?:[^"\\]|\\.)*"/g, "…")
    .replace(/\d+/g, "N")
    .replace(/[x]{20,}/g, "…")
    .slice(0, 200);

function* compareTrees(upstream: unknown, ours: unknown, path: string): Generator<Difference> {
  if (isDeepStrictEqual(upstream, ours)) return;
  if (isTree(upstream) && isTree(ours)) {
    for (const key of new Set([...Object.keys(upstream), ...Object.keys(ours)])) {
      yield* compareTrees(upstream[key], ours[key], path ? `${path}.${key.replace(/^[fkv]:.*$/, "*")}` : key);
    }
  } else if (Array.isArray(upstream) && Array.isArray(ours) && upstream.length === ours.length) {
    for (const [index, item] of upstream.entries()) yield* compareTrees(item, ours[index], `${path}[]`);
  } else {
    yield { kind: `object ${path} ${kindOf(upstream)}/${kindOf(ours)}`, upstream: short(upstream), ours: short(ours) };
  }
}

const isTree = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const kindOf = (value: unknown): string => {
  if (value === undefined) return "absent";
  if (value === null) return "null";
  return Array.isArray(value) ? "list" : typeof value;
};

const short = (value: unknown): string => {
  const text = value === undefined ? "absent" : JSON.stringify(value);
  return text.length > 1500 ? `${text.slice(0, 1500)}…` : text;
};
