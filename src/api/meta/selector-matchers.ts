import { type FieldTerm, matchesFields } from "./field-selector.ts";
import { type LabelSelector, matchesRequirements, type Requirement, requirementsOf } from "./label-selector.ts";

type Labels = Readonly<Record<string, string>>;

/** Whether the labels satisfy the selector. No selector matches nothing, an empty one everything. */
export function matches(selector: LabelSelector | undefined, labels: Labels | undefined): boolean {
  return selector !== undefined && matcherOf(selector)(labels ?? noLabels);
}

/** The same for many labels: the selector is read once. */
export function matcherOf(selector: LabelSelector): (labels: Labels) => boolean {
  let matcher = matchers.get(selector);
  if (!matcher) {
    matcher = readSelector(selector);
    matchers.set(selector, matcher);
  }
  return matcher;
}

export const noLabels: Labels = {};

/** One selector meets thousands of objects, so it is read once. Objects of the API do not change in place. */
const matchers = new WeakMap<LabelSelector, (labels: Labels) => boolean>();

function readSelector(selector: LabelSelector): (labels: Labels) => boolean {
  const requirements = requirementsOf(selector);
  const { matchLabels = {}, matchExpressions = [] } = selector;
  const isKnown = requirements.length === Object.keys(matchLabels).length + matchExpressions.length;
  return isKnown ? labelMatcher(requirements) : () => false;
}

/** Up to this many conditions and values are compared one by one. */
const fewSteps = 16;

/**
 * Decides whether labels satisfy all requirements. However many there are, it takes time in proportion to the labels:
 * a list asks this for every object.
 */
export function labelMatcher(requirements: readonly Requirement[]): (labels: Labels) => boolean {
  const steps = requirements.reduce((sum, { values }) => sum + 1 + values.length, 0);
  if (steps <= fewSteps) return (labels) => matchesRequirements(requirements, labels);
  const byKey = Map.groupBy(requirements, ({ key }) => key);
  const conditions = new Map(Array.from(byKey, ([key, own]) => [key, conditionOf(own)]));
  const required = conditions.values().reduce((sum, { mustExist }) => sum + Number(mustExist), 0);
  return (labels) => {
    let found = 0;
    for (const [key, value] of Object.entries(labels)) {
      const condition = conditions.get(key);
      if (!condition) continue;
      if (!isHeld(condition, key, value)) return false;
      if (condition.mustExist) found++;
    }
    return found === required;
  };
}

/** All that is asked of one label. */
interface Condition {
  readonly mustExist: boolean;
  readonly mustNotExist: boolean;
  readonly allowed: ReadonlySet<string> | undefined;
  readonly refused: ReadonlySet<string>;
  /** The bounds as they were given; only the tightest decide. */
  readonly bounds: readonly Requirement[];
}

const allowing = new Set(["=", "==", "in"]);
const refusing = new Set(["!=", "notin"]);

const none: ReadonlySet<string> = new Set();
/** Shared, because watches keep them and these are the shortest to write: a selector can hold the most of them. */
const absent: Condition = { mustExist: false, mustNotExist: true, allowed: undefined, refused: none, bounds: [] };
const present: Condition = { ...absent, mustExist: true, mustNotExist: false };

function conditionOf(requirements: readonly Requirement[]): Condition {
  if (requirements.every(({ operator }) => operator === "!")) return absent;
  if (requirements.every(({ operator }) => operator === "exists")) return present;
  let allowed: Set<string> | undefined;
  const refused = new Set<string>();
  for (const { operator, values } of requirements) {
    if (refusing.has(operator)) for (const value of values) refused.add(value);
    if (allowing.has(operator)) allowed = allowed ? allowed.intersection(new Set(values)) : new Set(values);
  }
  return {
    mustExist: requirements.some(({ operator }) => operator !== "!" && !refusing.has(operator)),
    mustNotExist: requirements.some(({ operator }) => operator === "!"),
    allowed,
    refused: refused.size > 0 ? refused : none,
    bounds: [tightest(requirements, "gt"), tightest(requirements, "lt")].flat(),
  };
}

function tightest(requirements: readonly Requirement[], operator: "gt" | "lt"): Requirement[] {
  const sign = operator === "gt" ? 1n : -1n;
  const boundOf = ({ values: [bound = "0"] }: Requirement): bigint => BigInt(bound) * sign;
  const own = requirements.filter((each) => each.operator === operator);
  return own.length === 0 ? [] : [own.reduce((a, b) => (boundOf(b) > boundOf(a) ? b : a))];
}

function isHeld({ mustNotExist, allowed, refused, bounds }: Condition, key: string, value: string): boolean {
  if (mustNotExist || refused.has(value) || (allowed && !allowed.has(value))) return false;
  return bounds.length === 0 || matchesRequirements(bounds, { [key]: value });
}

/** The same for fields: it reads each field once, however many terms there are. */
export function fieldMatcher(terms: readonly FieldTerm[]): (read: (path: string) => string | undefined) => boolean {
  if (terms.length <= fewSteps) return (read) => matchesFields(terms, read);
  const byPath = Map.groupBy(terms, ({ path }) => path);
  const conditions = Array.from(byPath, ([path, own]) => {
    const { "=": wanted = [], "!=": refused = [] } = Object.groupBy(own, ({ operator }) => operator);
    return { path, wanted: valuesOf(wanted), refused: valuesOf(refused) };
  });
  return (read) =>
    conditions.every(({ path, wanted, refused }) => {
      const value = read(path) ?? "";
      if (wanted.size > 1 || (wanted.size === 1 && !wanted.has(value))) return false;
      return !refused.has(value);
    });
}

const valuesOf = (terms: readonly FieldTerm[]): Set<string> => new Set(terms.map(({ value }) => value));
