import { type Pod } from "#api/core/pod.ts";
import { type AffinityTerm, affinityTermOf } from "./affinity-term.ts";

export interface WeightedTerm {
  readonly term: AffinityTerm;
  /** Negative: nodes near to these pods are avoided. */
  readonly weight: number;
}

/** What a pod says about where other pods are. */
export interface PodTerms {
  readonly near: readonly AffinityTerm[];
  readonly apart: readonly AffinityTerm[];
  readonly preferred: readonly WeightedTerm[];
}

const none: PodTerms = { near: [], apart: [], preferred: [] };
/** Versions of a pod share their affinity. */
const known = new WeakMap<object, PodTerms>();

export function podTermsOf({ spec, metadata }: Pod): PodTerms {
  const { affinity } = spec;
  if (!affinity?.podAffinity && !affinity?.podAntiAffinity) return none;
  let terms = known.get(affinity);
  if (!terms) {
    terms = parse(affinity, metadata.namespace);
    known.set(affinity, terms);
  }
  return terms;
}

function parse({ podAffinity, podAntiAffinity }: Affinity, namespace: string): PodTerms {
  const required = (side: Side | undefined): AffinityTerm[] =>
    (side?.requiredDuringSchedulingIgnoredDuringExecution ?? []).map((term) => affinityTermOf(term, namespace));
  const preferred = (side: Side | undefined, sign: 1 | -1): WeightedTerm[] =>
    (side?.preferredDuringSchedulingIgnoredDuringExecution ?? []).map(({ weight, podAffinityTerm }) => ({
      term: affinityTermOf(podAffinityTerm, namespace),
      weight: sign * weight,
    }));
  return {
    near: required(podAffinity),
    apart: required(podAntiAffinity),
    preferred: [...preferred(podAffinity, 1), ...preferred(podAntiAffinity, -1)],
  };
}

type Affinity = NonNullable<Pod["spec"]["affinity"]>;
type Side = NonNullable<Affinity["podAffinity"]>;
