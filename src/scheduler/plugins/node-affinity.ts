import { type Node } from "#api/core/node.ts";
import { type NodeSelectorTerm } from "#api/core/pod/affinity.ts";
import { type Pod } from "#api/core/pod.ts";
import { own } from "#lib/data/own.ts";
import { fits, rejectFinally, type SchedulerPlugin } from "../framework.ts";
import { normalize } from "../normalize.ts";

const mismatch = rejectFinally("node(s) didn't match Pod's node affinity/selector");

/** Honours `nodeSelector` and node affinity, required and preferred. */
export const nodeAffinity: SchedulerPlugin = {
  name: "NodeAffinity",
  weight: 2,
  retryOn: {
    node: (pod, { change, object, previous }) =>
      change !== "deleted" && matchesRequired(pod, object) && !(previous && matchesRequired(pod, previous)),
  },

  looksAt: ({ spec }) => [spec.nodeSelector, spec.affinity?.nodeAffinity],

  candidates(pod) {
    const terms = requiredTerms(pod);
    const names = terms && terms.length > 0 ? namedNodes(terms) : undefined;
    return names?.size === 0 ? rejectFinally("pod affinity terms conflict") : names;
  },

  preFilter: (pod) => (pod.spec.nodeSelector || requiredTerms(pod) ? true : undefined),

  filter: (pod, { node }) => (!node || matchesRequired(pod, node) ? fits : mismatch),

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

const requiredTerms = ({ spec }: Pod): readonly NodeSelectorTerm[] | undefined =>
  spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms;

function preferredTerms(pod: Pod) {
  const preferred = pod.spec.affinity?.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution;
  return preferred && preferred.length > 0 ? preferred : undefined;
}

/** Whether the node satisfies the pod's requirements. */
export function matchesRequired(pod: Pod, node: Node): boolean {
  const { labels } = node.metadata;
  for (const [key, value] of Object.entries(pod.spec.nodeSelector ?? {})) if (own(labels, key) !== value) return false;
  return requiredTerms(pod)?.some((term) => termMatches(term, node)) ?? true;
}

/** The nodes that every matching term names; then no other node needs to be evaluated. */
function namedNodes(terms: readonly NodeSelectorTerm[]): ReadonlySet<string> | undefined {
  const names = new Set<string>();
  for (const { matchFields = [] } of terms) {
    const lists = matchFields
      .filter(({ key, operator }) => key === "metadata.name" && operator === "In")
      .map(({ values = [] }) => new Set(values));
    if (lists.length === 0) return undefined;
    for (const name of lists.reduce((all, list) => all.intersection(list))) names.add(name);
  }
  return names;
}

function termMatches({ matchExpressions = [], matchFields = [] }: NodeSelectorTerm, node: Node): boolean {
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
