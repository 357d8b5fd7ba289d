import { type Hop, type HopObject } from "./hop.ts";

/** A hop and its consequences, in the order in which they began. */
export interface HopNode {
  readonly hop: Hop;
  readonly children: readonly HopNode[];
}

/** Hops whose cause is not among them are roots: the first request, or work caused by a hop that was dropped. */
export function buildTree(hops: readonly Hop[]): HopNode[] {
  const nodes = new Map<string, { hop: Hop; children: HopNode[] }>();
  for (const hop of hops) nodes.set(hop.spanId, { hop, children: [] });
  const roots: HopNode[] = [];
  for (const node of nodes.values()) {
    const parent = node.hop.parentId === node.hop.spanId ? undefined : nodes.get(node.hop.parentId);
    (parent?.children ?? roots).push(node);
  }
  for (const { children } of nodes.values()) children.sort(byStart);
  return roots.sort(byStart);
}

const byStart = (a: HopNode, b: HopNode): number => a.hop.startMs - b.hop.startMs;

/** The node and everything that it caused. */
export function* descendants(node: HopNode): Iterable<HopNode> {
  yield node;
  for (const child of node.children) yield* descendants(child);
}

export const endMs = ({ startMs, durationMs }: Hop): number => startMs + durationMs;

export const isAbout = ({ object }: Hop, { resource, namespace, name }: HopObject): boolean =>
  object?.name === name && object.namespace === namespace && object.resource === resource;

/** Only the paths to hops about the object, and everything that follows from those. */
export function focusOn(roots: readonly HopNode[], object: HopObject): HopNode[] {
  return roots.flatMap((node) => {
    if (isAbout(node.hop, object)) return [node];
    const children = focusOn(node.children, object);
    if (children.length === 0) return [];
    const steps = node.children.filter(({ hop }) => isStepOf(hop, node.hop));
    return [{ hop: node.hop, children: [...steps, ...children].sort(byStart) }];
  });
}

/** The steps of a request happen within it; everything else comes after it. */
export const isStepOf = (step: Hop, request: Hop): boolean =>
  request.hop === "client" && step.hop !== "client" && step.spanId.slice(0, -1) === request.spanId.slice(0, -1);
