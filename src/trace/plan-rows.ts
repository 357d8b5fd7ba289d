import { describeHop, describeStep, isReadyHop } from "./describe-hop.ts";
import { type Hop, hopNumber } from "./hop.ts";
import { descendants, endMs, type HopNode, isStepOf } from "./tree.ts";

/** One line of a waterfall. */
export interface Row {
  readonly depth: number;
  /** Which of the twelve hops; undefined for requests in between and for summary lines. */
  readonly number: number | undefined;
  readonly startMs: number;
  readonly durationMs: number;
  readonly who: string;
  readonly what: string;
}

export interface RowOptions {
  /** Show every hop, including plain status updates, and every pod. */
  readonly all: boolean;
}

/** The lines that summarise a trace: indented by cause, in order of time, and similar pods only once. */
export function planRows(roots: readonly HopNode[], options: RowOptions): Row[] {
  const story = options.all ? roots : roots.filter((root) => !isLateWrite(root.hop)).map(simplify);
  return story.flatMap((root) => [...rowsOf(root, { ...options, depth: 0 })]);
}

/** A write that conflicted and was repeated: the run that made it is not recorded. */
const isLateWrite = ({ hop, parentId, facts }: Hop): boolean =>
  hop === "client" && parentId !== "" && facts?.status === 409;

interface Place extends RowOptions {
  readonly depth: number;
}

function* rowsOf(node: StoryNode, place: Place): Iterable<Row> {
  const row = rowOf(node.hop, place.depth);
  yield node.after ? { ...row, what: `${row.what} (after pod ${node.after})` } : row;
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

/** A hop in the summary; `after` names the pod that had to exist first. */
interface StoryNode extends HopNode {
  readonly children: readonly StoryNode[];
  readonly after?: string;
}

/**
 * Leaves out status updates without consequences, and attaches the consequences of the others to their cause. What a
 * workload does once a pod is ready or gone becomes a separate part, not a detail of that pod.
 */
function simplify(root: HopNode): StoryNode {
  const chapters: StoryNode[] = [];
  const visit = (node: HopNode, pod: string): StoryNode[] => {
    const isPod = isNewPod(node.hop) || isPodEnd(node.hop);
    const inside = isPod ? (node.hop.object?.name ?? "") : isWorkload(node.hop) ? "" : pod;
    const children = once(node.children.flatMap((child) => visit(child, inside)));
    if (node === root) return [{ hop: node.hop, children }];
    const kept = keep({ hop: node.hop, children });
    if (pod === "") return kept;
    for (const each of kept) if (isWorkload(each.hop)) chapters.push({ ...each, after: pod });
    return kept.filter((each) => !isWorkload(each.hop));
  };
  const [story = { hop: root.hop, children: [] }] = visit(root, "");
  return { ...story, children: once([...story.children, ...chapters]) };
}

/** Endpoint updates belong to the pod; the work of its owners does not. */
const isWorkload = ({ hop, component }: Hop): boolean => hop === "control" && component !== "endpointslice";

/** The node, or its consequences if it is not interesting itself, or nothing. */
function keep(node: StoryNode): StoryNode[] {
  const { hop, facts, object } = node.hop;
  const consequences = node.children.filter((child) => !isStepOf(child.hop, node.hop));
  if (hop === "client" && facts?.subresource === "status") return consequences;
  // Endpoints without traffic yet, and those that change no rule.
  if (hop === "client" && object?.resource === endpointSlices && consequences.length === 0) return [];
  if (hop === "control" && consequences.every((child) => child.hop.hop === "control")) return consequences;
  return [node];
}

const isPodEnd = ({ hop, object, facts }: Hop): boolean =>
  hop === "client" && object?.resource === "pods" && facts?.verb === "delete";

const endpointSlices = "endpointslices.discovery.k8s.io";

/** In order of time; a repeated step is shown only the first time. */
function once(nodes: readonly StoryNode[]): StoryNode[] {
  const seen = new Set<string>();
  return nodes
    .toSorted((a, b) => a.hop.startMs - b.hop.startMs)
    .filter(({ hop: { hop, object, facts } }) => {
      if (hop !== "run") return true;
      const key = `${object?.name} ${String(facts?.step)} ${String(facts?.container ?? "")} ${Boolean(facts?.error)}`;
      if (seen.has(key)) return false;
      seen.add(key);
      return true;
    });
}

interface Alike {
  /** The one that took longest. */
  readonly shown: StoryNode;
  readonly others: readonly StoryNode[];
}

/** Groups pods that went through the same steps. */
function alike(nodes: readonly StoryNode[]): Alike[] {
  const groups = new Map<string, StoryNode[]>();
  nodes.forEach((node, at) => {
    const key = isNewPod(node.hop) || isPodEnd(node.hop) ? `${String(node.hop.facts?.verb)} ${shapeOf(node)}` : `${at}`;
    groups.set(key, [...(groups.get(key) ?? []), node]);
  });
  return [...groups.values()].map((group) => {
    const [shown = group[0] as StoryNode, ...others] = group.toSorted(slowestFirst);
    return { shown, others };
  });
}

export const isNewPod = ({ hop, object, facts }: Hop): boolean =>
  hop === "client" && object?.resource === "pods" && facts?.verb === "create" && facts.subresource === "";

/** How far the pod came, and by which steps. Endpoint updates are ignored, because they are batched at random. */
const shapeOf = (node: HopNode): string =>
  [...new Set(Array.from(descendants(node), ({ hop }) => `${hop.hop} ${String(hop.facts?.step ?? "")}`))]
    .filter((step) => step.startsWith("schedule") || step.startsWith("run"))
    .sort()
    .join();

/** Among ending pods, those that services were updated for come first. */
function slowestFirst(a: StoryNode, b: StoryNode): number {
  const wasServed = (node: StoryNode): number =>
    isPodEnd(node.hop) && [...descendants(node)].some(({ hop }) => hop.hop === "serve") ? 1 : 0;
  return wasServed(b) - wasServed(a) || arrivedMs(b) - arrivedMs(a);
}

/** When it received traffic, or was ready, or its last hop ended. */
function arrivedMs(node: HopNode): number {
  const hops = Array.from(descendants(node), ({ hop }) => hop);
  const goals = hops.filter((hop) => isReadyHop(hop) || hop.hop === "serve");
  return Math.max(...(goals.length > 0 ? goals : hops).map(endMs));
}

function othersRow(shown: HopNode, others: readonly HopNode[], depth: number): Row {
  const ends = others.map(arrivedMs);
  const startMs = Math.min(...others.map(({ hop }) => hop.startMs));
  const count = others.length === 1 ? "1 more pod" : `${others.length} more pods`;
  return {
    depth,
    number: undefined,
    startMs,
    durationMs: Math.max(...ends) - startMs,
    who: "",
    what: `… and ${count} the same way${isNewPod(shown.hop) ? ", the slowest is shown" : ""}`,
  };
}
