import { describeHop, describeStep, isReadyHop } from "./describe-hop.ts";
import { type Hop, hopNumber } from "./hop.ts";
import { descendants, endMs, type HopNode, isStepOf } from "./tree.ts";

/** One line of a waterfall. */
export interface Row {
  readonly depth: number;
  /** Which of the twelve hops; undefined for requests on the way and for lines about others. */
  readonly number: number | undefined;
  readonly startMs: number;
  readonly durationMs: number;
  readonly who: string;
  readonly what: string;
}

export interface RowOptions {
  /** Every hop, also those that only report how things are, and every pod. */
  readonly all: boolean;
}

/** The lines that tell the story of a trace: indented by cause, in the order of time, what is alike told once. */
export function planRows(roots: readonly HopNode[], options: RowOptions): Row[] {
  const story = options.all ? roots : roots.flatMap((root) => simplify(root, { isRoot: true }));
  return story.flatMap((root) => [...rowsOf(root, { ...options, depth: 0 })]);
}

interface Place extends RowOptions {
  readonly depth: number;
}

function* rowsOf(node: HopNode, place: Place): Iterable<Row> {
  yield rowOf(node.hop, place.depth);
  const below = { ...place, depth: place.depth + 1 };
  const isStep = ({ hop }: HopNode): boolean => isStepOf(hop, node.hop);
  if (place.all || place.depth === 0) yield* stepRows(node.children.filter(isStep), below.depth);
  const consequences = node.children.filter((child) => !isStep(child));
  if (place.all) {
    for (const child of consequences) yield* rowsOf(child, below);
    return;
  }
  for (const { shown, others } of alike(consequences)) {
    yield* rowsOf(shown, below);
    if (others.length > 0) yield othersRow(shown, others, below.depth);
  }
}

function* stepRows(steps: readonly HopNode[], depth: number): Iterable<Row> {
  let isFirst = true;
  for (const { hop } of steps) {
    yield { ...rowOf(hop, depth), ...describeStep(hop, { isFirst }) };
    if (hop.hop === "schema") isFirst = false;
  }
}

function rowOf(hop: Hop, depth: number): Row {
  const { startMs, durationMs } = hop;
  const number = hop.hop === "client" && depth > 0 ? undefined : hopNumber(hop.hop);
  return { depth, number, startMs, durationMs, ...describeHop(hop) };
}

/** Leaves out reports of how things are that led to nothing, and takes the others' consequences to their cause. */
function simplify(node: HopNode, { isRoot }: { isRoot: boolean }): HopNode[] {
  const children = once(node.children.flatMap((child) => simplify(child, { isRoot: false })));
  const kept: HopNode = { hop: node.hop, children };
  if (isRoot) return [kept];
  const { hop, facts, object } = node.hop;
  const consequences = children.filter((child) => !isStepOf(child.hop, node.hop));
  if (hop === "client" && facts?.subresource === "status") return consequences;
  // Endpoints that nobody is sent to yet, and those that change no rule.
  if (hop === "client" && object?.resource === endpointSlices && consequences.length === 0) return [];
  if (hop === "control" && consequences.length === 0) return [];
  return [kept];
}

const endpointSlices = "endpointslices.discovery.k8s.io";

/** A step that was done again and again is told the first time only. */
function once(nodes: readonly HopNode[]): HopNode[] {
  const seen = new Set<string>();
  const kept = nodes.filter(({ hop: { hop, object, facts } }) => {
    if (hop !== "run") return true;
    const key = `${object?.name} ${String(facts?.step)} ${String(facts?.container ?? "")}`;
    if (seen.has(key)) return false;
    seen.add(key);
    return true;
  });
  return kept.sort((a, b) => a.hop.startMs - b.hop.startMs);
}

interface Alike {
  /** The one that took longest. */
  readonly shown: HopNode;
  readonly others: readonly HopNode[];
}

/** Pods that came the same way are one story. */
function alike(nodes: readonly HopNode[]): Alike[] {
  const groups = new Map<string, HopNode[]>();
  nodes.forEach((node, at) => {
    const key = isNewPod(node.hop) ? shapeOf(node) : `${at}`;
    groups.set(key, [...(groups.get(key) ?? []), node]);
  });
  return [...groups.values()].map((group) => {
    const [shown = group[0] as HopNode, ...others] = group.toSorted((a, b) => arrivedMs(b) - arrivedMs(a));
    return { shown, others };
  });
}

export const isNewPod = ({ hop, object, facts }: Hop): boolean =>
  hop === "client" && object?.resource === "pods" && facts?.verb === "create" && facts.subresource === "";

/** How far it came, and by which steps; whom its endpoints were written with is chance. */
const shapeOf = (node: HopNode): string =>
  [...new Set(Array.from(descendants(node), ({ hop }) => `${hop.hop} ${String(hop.facts?.step ?? "")}`))]
    .filter((step) => step.startsWith("schedule") || step.startsWith("run"))
    .sort()
    .join();

/** When traffic found it, or it was ready, or came as far as it did. */
function arrivedMs(node: HopNode): number {
  const hops = Array.from(descendants(node), ({ hop }) => hop);
  const goals = hops.filter((hop) => isReadyHop(hop) || hop.hop === "serve");
  return Math.max(...(goals.length > 0 ? goals : hops).map(endMs));
}

function othersRow(shown: HopNode, others: readonly HopNode[], depth: number): Row {
  const ends = others.map(arrivedMs);
  const startMs = Math.min(...others.map(({ hop }) => hop.startMs));
  const count = others.length === 1 ? "1 more pod" : `${others.length} more pods`;
  const name = shown.hop.object?.name ?? "";
  return {
    depth,
    number: undefined,
    startMs,
    durationMs: Math.max(...ends) - startMs,
    who: "",
    what: `… and ${count} the same way, ${name} was the slowest`,
  };
}
