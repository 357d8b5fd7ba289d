import { type Node } from "#api/core/node.ts";
import { matchesRequired, requiredTerms, termMatches } from "#api/core/node-match.ts";
import { type NodeSelectorTerm } from "#api/core/pod/affinity.ts";
import { type Pod } from "#api/core/pod.ts";
import { type NodeAffinityArgs } from "../args/plugin-args.ts";
import { fits, rejectFinally, type SchedulerPlugin } from "../framework.ts";
import { normalize } from "../normalize.ts";

const mismatch = rejectFinally("node(s) didn't match Pod's node affinity/selector");
const notEnforced = rejectFinally("node(s) didn't match scheduler-enforced node affinity");

/** Honours `nodeSelector` and node affinity, required and preferred. An administrator may add affinity for all pods. */
export function nodeAffinity({ addedAffinity }: NodeAffinityArgs = {}): SchedulerPlugin {
  const added = addedAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms;
  const addedTerms = addedAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? [];
  const isEnforced = (node: Node): boolean => added?.some((term) => termMatches(term, node)) ?? true;
  const isAllowed = (pod: Pod, node: Node): boolean => isEnforced(node) && matchesRequired(pod, node);
  return {
    name: "NodeAffinity",
    weight: 2,
    retryOn: {
      node: (pod, { change, object, previous }) =>
        change !== "deleted" && isAllowed(pod, object) && !(previous && isAllowed(pod, previous)),
    },

    looksAt: ({ spec }) => [spec.nodeSelector, spec.affinity?.nodeAffinity],

    candidates(pod) {
      const terms = requiredTerms(pod);
      const names = terms && terms.length > 0 ? namedNodes(terms) : undefined;
      return names?.size === 0 ? rejectFinally("pod affinity terms conflict") : names;
    },

    preFilter: (pod) => (added || pod.spec.nodeSelector || requiredTerms(pod) ? true : undefined),

    filter(pod, { node }) {
      if (!node) return fits;
      if (added && !isEnforced(node)) return notEnforced;
      return matchesRequired(pod, node) ? fits : mismatch;
    },

    preScore(pod) {
      const own = preferredTerms(pod);
      return addedTerms.length === 0 ? own : [...(own ?? []), ...addedTerms];
    },

    score(_pod, { node }, state) {
      let sum = 0;
      for (const { weight, preference } of state as ReturnType<typeof preferredTerms> & object) {
        if (node && termMatches(preference, node)) sum += weight;
      }
      return sum;
    },
    normalize,
  };
}

function preferredTerms(pod: Pod) {
  const preferred = pod.spec.affinity?.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution;
  return preferred && preferred.length > 0 ? preferred : undefined;
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
