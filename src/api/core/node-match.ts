import { own } from "#lib/data/own.ts";
import { type Node } from "./node.ts";
import { type NodeSelectorTerm } from "./pod/affinity.ts";
import { type PodSpec } from "./pod/pod-spec.ts";

/** What decides on which nodes a pod may run. */
export interface Placed {
  readonly spec: Pick<PodSpec, "nodeSelector" | "affinity">;
}

export const requiredTerms = ({ spec }: Placed): readonly NodeSelectorTerm[] | undefined =>
  spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms;

/** Whether the node satisfies the pod's requirements. */
export function matchesRequired(pod: Placed, node: Node): boolean {
  const { labels } = node.metadata;
  for (const [key, value] of Object.entries(pod.spec.nodeSelector ?? {})) if (own(labels, key) !== value) return false;
  return requiredTerms(pod)?.some((term) => termMatches(term, node)) ?? true;
}

export function termMatches({ matchExpressions = [], matchFields = [] }: NodeSelectorTerm, node: Node): boolean {
  if (matchExpressions.length === 0 && matchFields.length === 0) return false;
  const { labels, name } = node.metadata;
  return (
    matchExpressions.every((requirement) => requirementMatches(requirement, own(labels, requirement.key))) &&
    matchFields.every((requirement) => requirement.key === "metadata.name" && requirementMatches(requirement, name))
  );
}

function requirementMatches(
  { operator, values = [] }: { operator: string; values?: readonly string[] },
  value: string | undefined,
): boolean {
  switch (operator) {
    case "In":
      return value !== undefined && values.includes(value);
    case "NotIn":
      return value === undefined || !values.includes(value);
    case "Exists":
      return value !== undefined;
    case "DoesNotExist":
      return value === undefined;
    case "Gt":
      return isLess(values[0], value);
    case "Lt":
      return isLess(value, values[0]);
    default:
      return false;
  }
}

/** Integers only; anything else is not comparable. */
function isLess(a: string | undefined, b: string | undefined): boolean {
  return isInteger(a) && isInteger(b) && BigInt(a) < BigInt(b);
}
const isInteger = (text: string | undefined): text is string => text !== undefined && /^[-+]?\d+$/.test(text);
