import { type NodeSelectorTerm } from "#api/core/affinity.ts";
import { type Node } from "#api/core/node.ts";
import { type Pod } from "#api/core/pod.ts";
import { fits, rejectFinally, type SchedulerPlugin } from "../framework.ts";
import { normalize } from "../normalize.ts";

/** Honours `nodeSelector` and node affinity, required and preferred. */
export const nodeAffinity: SchedulerPlugin = {
  name: "NodeAffinity",
  weight: 2,
  retryOn: [
    { kind: "Node", change: "created" },
    { kind: "Node", change: "updated" },
  ],

  candidates(pod) {
    const terms = pod.spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms;
    return terms && terms.length > 0 ? namedNodes(terms) : undefined;
  },

  filter(pod, { node }) {
    if (!node || matchesRequired(pod, node)) return fits;
    return rejectFinally("node(s) didn't match Pod's node affinity/selector");
  },

  preScore: (pod) => preferredTerms(pod),

  score(_pod, { node }, state) {
    let sum = 0;
    for (const { weight, preference } of state as ReturnType<typeof preferredTerms> & object) {
      if (node && termMatches(preference, node)) sum += weight;
    }
    return sum;
  },
  normalize,
};

function preferredTerms(pod: Pod) {
  const preferred = pod.spec.affinity?.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution;
  return preferred && preferred.length > 0 ? preferred : undefined;
}

/** Whether the node is one that the pod asks for. */
export function matchesRequired({ spec }: Pod, node: Node): boolean {
  const labels = node.metadata.labels ?? {};
  for (const [key, value] of Object.entries(spec.nodeSelector ?? {})) if (labels[key] !== value) return false;
  const required = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  if (!required) return true;
  return required.nodeSelectorTerms.some((term) => termMatches(term, node));
}

/** Every term that can match names its nodes: then no other node needs a look. */
function namedNodes(terms: readonly NodeSelectorTerm[]): ReadonlySet<string> | undefined {
  const names = new Set<string>();
  for (const { matchFields } of terms) {
    const byName = matchFields?.find(({ key, operator }) => key === "metadata.name" && operator === "In");
    if (!byName) return undefined;
    for (const name of byName.values ?? []) names.add(name);
  }
  return names;
}

function termMatches({ matchExpressions = [], matchFields = [] }: NodeSelectorTerm, node: Node): boolean {
  if (matchExpressions.length === 0 && matchFields.length === 0) return false;
  const labels = node.metadata.labels ?? {};
  return (
    matchExpressions.every((requirement) => requirementMatches(requirement, labels[requirement.key])) &&
    matchFields.every(
      (requirement) => requirement.key === "metadata.name" && requirementMatches(requirement, node.metadata.name),
    )
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
      return Number(value) > Number(values[0]);
    case "Lt":
      return Number(value) < Number(values[0]);
    default:
      return false;
  }
}
