import { type PolicyRule } from "#api/rbac/policy-rule.ts";
import { describeRule, urlCovers } from "./rules.ts";

/** What `wanted` allows but `held` does not. */
export interface Uncovered {
  /** Empty if everything is covered. A rule stands for all its verbs on all its resources. */
  readonly missing: readonly PolicyRule[];
  /** The comparison was abandoned: what was not compared counts as missing. */
  readonly gaveUp: boolean;
}

/** The maximum number of comparisons of one value with one rule; these take about 10 ms. */
const maxSteps = 100_000;
const maxMissing = 1000;

/**
 * A rule is a box: verbs x groups x resources x names. In each dimension, its values are grouped by the held rules that
 * have them, so the work depends on how much the held rules differ and not on the size of the box.
 *
 *     wanted  get list delete | pods secrets          held  A: get list | pods     B: * | configmaps
 *     verbs   {get list} -> A B    {delete} -> B
 *     then    {pods} -> A          {pods secrets} -> none: missing
 *             {secrets} -> none: missing
 */
export function uncoveredRules(
  held: readonly PolicyRule[],
  wanted: readonly PolicyRule[],
  steps: number = maxSteps,
): Uncovered {
  const work = new Comparison(steps);
  const rules = held.map((rule) => new HeldRule(rule));
  for (const rule of wanted) {
    const boxes = boxesOf(rule);
    if (rules.some((own) => !work.isOver && coversWhole(own, boxes, work))) continue;
    if (work.isOver) break;
    for (const { dimensions, part } of boxes) splitBox(work, { dimensions, held: rules, part });
  }
  return { missing: work.missing, gaveUp: work.isOver };
}

/** One line for each group, resource and name, as upstream prints them, and a final one if there are too many. */
export function describeMissing(missing: readonly PolicyRule[], maxLines = 100): string[] {
  const verbsOf = new Map<string, { readonly target: PolicyRule; readonly verbs: Set<string> }>();
  for (const { verbs, ...box } of missing) {
    for (const target of targetsOf(box)) {
      const key = JSON.stringify(target);
      const known = verbsOf.get(key);
      if (!known && verbsOf.size === maxLines) return [...linesOf(verbsOf.values()), "and more"];
      if (known) for (const verb of verbs) known.verbs.add(verb);
      else verbsOf.set(key, { target: { verbs: [], ...target }, verbs: new Set(verbs) });
    }
  }
  return linesOf(verbsOf.values());
}

const linesOf = (found: Iterable<{ readonly target: PolicyRule; readonly verbs: ReadonlySet<string> }>): string[] =>
  Array.from(found, ({ target, verbs }) => describeRule({ ...target, verbs: [...verbs] })).sort();

type Target = Omit<PolicyRule, "verbs">;

function* targetsOf({ apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] }: Target) {
  for (const group of apiGroups) {
    for (const resource of resources) {
      const target: Target = { apiGroups: [group], resources: [resource] };
      if (resourceNames.length === 0) yield target;
      for (const name of resourceNames) yield { ...target, resourceNames: [name] };
    }
  }
  for (const url of nonResourceURLs) yield { nonResourceURLs: [url] } satisfies Target;
}

/** Counts the work, and stops when it is too much. */
class Comparison {
  readonly missing: PolicyRule[] = [];
  #left: number;

  constructor(steps: number) {
    this.#left = steps;
  }
  get isOver(): boolean {
    return this.#left <= 0 || this.missing.length >= maxMissing;
  }
  count(steps: number): void {
    this.#left -= steps;
  }
}

type Dimension = "verbs" | "apiGroups" | "resources" | "resourceNames" | "nonResourceURLs";

/** Shorter lists are searched linearly. */
const shortList = 8;

/** A held rule with fast look-ups of its values. */
class HeldRule {
  readonly #rule: PolicyRule;
  #sets: Map<Dimension, ReadonlySet<string>> | undefined;

  constructor(rule: PolicyRule) {
    this.#rule = rule;
  }
  has(dimension: Dimension, value: string, work: Comparison): boolean {
    work.count(1);
    const values = this.#rule[dimension] ?? [];
    if (dimension === "nonResourceURLs") return hasUrl(values, value, work);
    if (dimension === "resourceNames") return values.length === 0 || this.#includes(dimension, value, work);
    if (this.#includes(dimension, value, work) || this.#includes(dimension, "*", work)) return true;
    const slash = dimension === "resources" ? value.indexOf("/") : -1;
    return slash >= 0 && this.#includes(dimension, `*${value.slice(slash)}`, work);
  }
  /** A rule without names applies to all objects. */
  hasAllNames(work: Comparison): boolean {
    work.count(1);
    return (this.#rule.resourceNames ?? []).length === 0;
  }

  #includes(dimension: Dimension, value: string, work: Comparison): boolean {
    const values = this.#rule[dimension] ?? [];
    if (values.length <= shortList) return values.includes(value);
    this.#sets ??= new Map();
    let set = this.#sets.get(dimension);
    if (!set) {
      work.count(values.length);
      set = new Set(values);
      this.#sets.set(dimension, set);
    }
    return set.has(value);
  }
}

function hasUrl(patterns: readonly string[], url: string, work: Comparison): boolean {
  work.count(patterns.length);
  return patterns.some((pattern) => urlCovers(pattern, url));
}

interface Box {
  /** The dimensions that remain to be split, with their values. */
  readonly dimensions: readonly (readonly [Dimension, readonly string[]])[];
  /** The rules that have all values split so far. */
  readonly held: readonly HeldRule[];
  /** The values split so far. */
  readonly part: PolicyRule;
}

/** A rule about resources is one box, and so is a rule about paths; a rule with both is two. */
function boxesOf({ verbs, apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] }: PolicyRule) {
  const part: PolicyRule = { verbs: [] };
  const about: Box["dimensions"] = [
    ["verbs", verbs],
    ["apiGroups", apiGroups],
    ["resources", resources],
    ["resourceNames", resourceNames],
  ];
  const paths: Box["dimensions"] = [
    ["verbs", verbs],
    ["nonResourceURLs", nonResourceURLs],
  ];
  return [
    ...(apiGroups.length > 0 && resources.length > 0 ? [{ dimensions: about, part }] : []),
    ...(nonResourceURLs.length > 0 ? [{ dimensions: paths, part }] : []),
  ];
}

/** The usual case: one rule covers everything. */
function coversWhole(own: HeldRule, boxes: ReturnType<typeof boxesOf>, work: Comparison): boolean {
  return boxes.every(({ dimensions }) =>
    dimensions.every(([dimension, values]) => {
      if (dimension === "resourceNames" && values.length === 0) return own.hasAllNames(work);
      return values.every((value) => !work.isOver && own.has(dimension, value, work));
    }),
  );
}

function splitBox(work: Comparison, { dimensions, held, part }: Box): void {
  const [first, ...rest] = dimensions;
  if (work.isOver) return;
  if (!first || held.length === 0) {
    if (held.length === 0) work.missing.push(whole(part, dimensions));
    return;
  }
  const [dimension, values] = first;
  if (dimension === "resourceNames" && values.length === 0) {
    splitBox(work, { dimensions: rest, held: held.filter((own) => own.hasAllNames(work)), part });
    return;
  }
  for (const { values: same, held: theirs } of classesOf(work, { dimension, values, held })) {
    splitBox(work, { dimensions: rest, held: theirs, part: { ...part, [dimension]: same } });
  }
}

interface ValueClass {
  readonly values: string[];
  readonly held: readonly HeldRule[];
}

/** Groups the values by the rules that have them. */
function classesOf(
  work: Comparison,
  { dimension, values, held }: { dimension: Dimension; values: readonly string[]; held: readonly HeldRule[] },
): Iterable<ValueClass> {
  const classes = new Map<string, ValueClass>();
  for (const value of values) {
    if (work.isOver) break;
    const matching: HeldRule[] = [];
    let key = "";
    for (const own of held) {
      const has = own.has(dimension, value, work);
      key += has ? "1" : "0";
      if (has) matching.push(own);
    }
    const known = classes.get(key);
    if (known) known.values.push(value);
    else classes.set(key, { values: [value], held: matching });
  }
  return classes.values();
}

/** The part with all remaining dimensions. */
function whole(part: PolicyRule, dimensions: Box["dimensions"]): PolicyRule {
  const rest = dimensions.filter(([, values]) => values.length > 0);
  return { ...part, ...Object.fromEntries(rest.map(([dimension, values]) => [dimension, [...values]])) };
}
