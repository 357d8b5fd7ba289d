import { isObject } from "#lib/data/json-object.ts";
import { type Facts, type Hop, type HopObject } from "./hop.ts";

/** Hops that nodes record: what they did for pods and for services. */
const nodeHops = {
  run: { component: "kubelet", resource: "pods" },
  serve: { component: "proxy", resource: "services" },
};

const maxHops = 500;
const maxTextLength = 256;
const maxFacts = 20;

/**
 * The hops of a trace in the answer of a node. The node may have been taken over, so it can only speak about itself: it is
 * named in every hop, and what is not a hop of a node, or is too long, is left out.
 */
export function parseNodeHops(answer: unknown, { node, traceId }: { node: string; traceId: string }): Hop[] {
  if (!Array.isArray(answer)) return [];
  return answer.slice(0, maxHops).flatMap((one: unknown) => parseHop(one, { node, traceId }) ?? []);
}

function parseHop(value: unknown, { node, traceId }: { node: string; traceId: string }): Hop | undefined {
  if (!isObject(value) || value.traceId !== traceId) return undefined;
  const { hop, spanId, parentId, object, startMs, durationMs, facts } = value;
  if (hop !== "run" && hop !== "serve") return undefined;
  const { component, resource } = nodeHops[hop];
  const about = objectIn(object, resource);
  if (!about || !isSpan(spanId) || !(parentId === "" || isSpan(parentId))) return undefined;
  if (!isTime(startMs) || !isTime(durationMs)) return undefined;
  const who = `${component} ${node}`;
  return {
    traceId,
    spanId,
    parentId,
    hop,
    component: who,
    object: about,
    revision: 0,
    startMs,
    durationMs,
    facts: factsIn(facts),
  };
}

const isSpan = (value: unknown): value is string => typeof value === "string" && /^[0-9a-f]{16}$/.test(value);
const isTime = (value: unknown): value is number => typeof value === "number" && value >= 0 && value < 1e15;
const isText = (value: unknown): value is string => typeof value === "string" && value.length <= maxTextLength;

function objectIn(value: unknown, resource: string): HopObject | undefined {
  if (!isObject(value) || value.resource !== resource || !isText(value.namespace) || !isText(value.name))
    return undefined;
  return { resource, namespace: value.namespace, name: value.name };
}

/** Plain values only; others are not shown for such hops. */
function factsIn(value: unknown): Facts | undefined {
  if (!isObject(value)) return undefined;
  const plain = Object.entries(value).filter(
    ([key, one]) => isText(key) && (isText(one) || typeof one === "boolean" || Number.isFinite(one)),
  );
  return Object.fromEntries(plain.slice(0, maxFacts));
}
