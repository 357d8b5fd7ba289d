import { type PodAffinityTerm } from "#api/core/pod/affinity.ts";
import { type Pod } from "#api/core/pod.ts";
import { isEmptySelector, type LabelSelector, requirementsOf } from "#api/meta/label-selector.ts";
import { labelMatcher } from "#api/meta/selector-matchers.ts";
import { BoundedCache } from "#lib/data/bounded-cache.ts";

export type Labels = Readonly<Record<string, string>>;
/** The labels of a namespace; undefined if there is no such namespace. */
export type NamespaceLabels = (name: string) => Labels | undefined;

/** A set of pods, and the label of nodes that says what is near to them. */
export interface AffinityTerm {
  /** Equal for equal terms. */
  readonly key: string;
  readonly topologyKey: string;
  /** Whether the set depends on the labels of namespaces. */
  readonly selectsNamespaces: boolean;
  matches(pod: Pod, namespaceLabels: NamespaceLabels): boolean;
}

/** Pods from one template have equal terms, so each is compiled once. */
const known = new BoundedCache<AffinityTerm>({ entries: 4096, chars: 8 << 20, keyChars: 64 << 10 });

/** The term of a pod in this namespace. */
export function affinityTermOf(term: PodAffinityTerm, namespace: string): AffinityTerm {
  const { labelSelector, namespaces = [], namespaceSelector, topologyKey } = term;
  // Terms that name or select their namespaces are equal in all namespaces.
  const own = namespaces.length === 0 && !namespaceSelector ? namespace : undefined;
  const key = JSON.stringify([own, namespaces, namespaceSelector, labelSelector, topologyKey]);
  let compiled = known.get(key);
  if (!compiled) {
    compiled = { key, topologyKey, ...compile(term, own) };
    known.set(key, compiled, key.length);
  }
  return compiled;
}

function compile(
  { labelSelector, namespaces = [], namespaceSelector }: PodAffinityTerm,
  own: string | undefined,
): Pick<AffinityTerm, "selectsNamespaces" | "matches"> {
  const named = new Set(own === undefined ? namespaces : [own]);
  const selectsAll = namespaceSelector !== undefined && isEmptySelector(namespaceSelector);
  const ofNamespace = namespaceSelector && matcherOf(namespaceSelector);
  const ofPod = labelSelector && matcherOf(labelSelector);
  return {
    selectsNamespaces: ofNamespace !== undefined && !selectsAll,
    matches({ metadata }, namespaceLabels) {
      if (!ofPod?.(metadata.labels ?? noLabels)) return false;
      const { namespace: place } = metadata;
      return selectsAll || named.has(place) || (ofNamespace?.(namespaceLabels(place) ?? noLabels) ?? false);
    },
  };
}

const noLabels: Labels = {};
const matcherOf = (selector: LabelSelector): ((labels: Labels) => boolean) => labelMatcher(requirementsOf(selector));

/** Whether the pod belongs to each of the sets. No sets: false. */
export const matchesAll = (terms: readonly AffinityTerm[], pod: Pod, namespaceLabels: NamespaceLabels): boolean =>
  terms.length > 0 && terms.every((term) => term.matches(pod, namespaceLabels));

export const matchesAny = (terms: readonly AffinityTerm[], pod: Pod, namespaceLabels: NamespaceLabels): boolean =>
  terms.some((term) => term.matches(pod, namespaceLabels));
