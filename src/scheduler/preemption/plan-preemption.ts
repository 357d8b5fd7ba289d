import { type Steps } from "#lib/async/turns.ts";
import { type Random } from "#lib/data/random.ts";
import { explainCounts, explainRejections, type Rejections } from "../explain.ts";
import { type Rejection, rejectFinally, type SchedulerPlugin } from "../framework.ts";
import { Judge } from "../judge.ts";
import { type NodeInfo, type Snapshot } from "../snapshot.ts";
import { type Budgets, splitByBudget } from "./budgets.ts";
import { endsByPreemption } from "./ended-victims.ts";
import { type Nominated, type Nominations, priorityOf } from "./nominations.ts";
import { bestCandidate, type Candidate, moreImportant } from "./rank.ts";
import { WhatIf } from "./what-if.ts";

export interface PreemptionDeps {
  readonly limits?: CandidateLimits | undefined;
  readonly plugins: readonly SchedulerPlugin[];
  readonly snapshot: Snapshot;
  readonly nominations: Nominations;
  readonly budgets: Budgets;
  readonly random: Random;
}

/** The pods that have to end, or why preemption does not help. */
export type Preemption =
  | { readonly node: string; readonly victims: readonly Nominated[] }
  | { readonly node: undefined; readonly message: string; readonly keepsNomination: boolean };

/** How many nodes are enough to choose from: looking at all of a large cluster would take too long. */
export interface CandidateLimits {
  readonly percentage: number;
  readonly atLeast: number;
}
const defaultLimits: CandidateLimits = { percentage: 10, atLeast: 100 };

const noVictims = rejectFinally("No preemption victims found for incoming pod");
const notHelpful = rejectFinally("Preemption is not helpful for scheduling");

/**
 * Finds the node on which the fewest and least important pods have to end, so that a pod fits that fits nowhere. One step is
 * one node. Pods and nodes may change between two steps.
 */
export function* planPreemption(deps: PreemptionDeps, preemptor: Nominated, rejections: Rejections): Steps<Preemption> {
  const found = yield* findCandidates(deps, preemptor, rejections);
  return "candidates" in found ? (bestCandidate(found.candidates) ?? noCandidate) : found;
}

/** Nodes on which it would help if pods ended; at least one. */
export interface Candidates {
  readonly candidates: readonly Candidate[];
}
type Refused = Extract<Preemption, { readonly node: undefined }>;

export const noCandidate: Refused = {
  node: undefined,
  message: "no candidate node for preemption",
  keepsNomination: false,
};

/** The same without the choice among the candidates. */
export function* findCandidates(
  deps: PreemptionDeps,
  preemptor: Nominated,
  rejections: Rejections,
): Steps<Candidates | Refused> {
  const refusal = whyNotEligible(deps, preemptor, rejections);
  if (refusal !== undefined) return { node: undefined, message: refusal, keepsNomination: true };
  const { snapshot } = deps;
  if (!snapshot.hasPodsBelow(priorityOf(preemptor.pod))) return nobodyLower(snapshot, rejections);
  const possible = snapshot.nodes.filter(({ name }) => rejections.get(name)?.isFinal === false);
  const reasons = new Map<string, Rejection>();
  const { percentage, atLeast } = deps.limits ?? defaultLimits;
  const wanted = Math.max(Math.floor((possible.length * percentage) / 100), atLeast);
  const start = Math.floor(deps.random() * possible.length);
  const candidates: Candidate[] = [];
  let judged = { version: snapshot.version, judge: Judge.for(preemptor.pod, deps.plugins, snapshot) };
  for (let n = 0; n < possible.length && !isEnough(candidates, wanted); n++) {
    const info = possible[(start + n) % possible.length];
    if (!info?.node) continue;
    if (judged.version !== snapshot.version) {
      judged = { version: snapshot.version, judge: Judge.for(preemptor.pod, deps.plugins, snapshot) };
    }
    const found = victimsOn({ ...deps, judge: judged.judge }, preemptor, info);
    if ("reasons" in found) reasons.set(info.name, found);
    else candidates.push(found);
    yield;
  }
  if (candidates.length > 0) return { candidates };
  return { node: undefined, message: explainNoVictims(reasons, snapshot.nodes.length), keepsNomination: false };
}

/** Why no pods can end on some nodes; on all others it would not help. */
function explainNoVictims(reasons: ReadonlyMap<string, Rejection>, total: number): string {
  const counts = new Map<string, number>();
  const others = total - reasons.size;
  if (others > 0) counts.set(notHelpful.reasons.join(", "), others);
  for (const { reasons: some } of reasons.values()) {
    for (const reason of some) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  }
  return explainCounts(counts, total);
}

/** Thousands of pods that are alike may wait, so this is explained once for them. */
const explained = new WeakMap<Rejections, Refused>();

function nobodyLower({ nodes }: Snapshot, rejections: Rejections): Refused {
  let refusal = explained.get(rejections);
  if (!refusal) {
    const reasons = nodes.map(({ name }) => [name, rejections.get(name)?.isFinal === false ? noVictims : notHelpful]);
    const message = explainRejections(new Map(reasons as [string, Rejection][]), nodes.length);
    refusal = { node: undefined, message, keepsNomination: false };
    explained.set(rejections, refusal);
  }
  return refusal;
}

const isEnough = (candidates: readonly Candidate[], wanted: number): boolean =>
  candidates.length >= wanted && candidates.some(({ broken }) => broken === 0);

function whyNotEligible({ snapshot }: PreemptionDeps, { pod }: Nominated, rejections: Rejections): string | undefined {
  if (pod.spec.preemptionPolicy === "Never") return "not eligible due to preemptionPolicy=Never.";
  const nominated = pod.status?.nominatedNodeName;
  if (!nominated || rejections.get(nominated)?.isFinal) return undefined;
  const pods = snapshot.get(nominated)?.pods.values() ?? [];
  const waits = [...pods].some((other) => priorityOf(other) < priorityOf(pod) && endsByPreemption(other));
  return waits ? "not eligible due to a terminating pod on the nominated node." : undefined;
}

/** The pods that have to end on one node: as few as possible, and rather those that no budget protects. */
function victimsOn(
  deps: PreemptionDeps & { readonly judge: Judge },
  preemptor: Nominated,
  info: NodeInfo,
): Candidate | Rejection {
  const { budgets } = deps;
  const priority = priorityOf(preemptor.pod);
  const lower = Array.from(info.pods, ([key, pod]) => ({ key, pod })).filter(({ pod }) => priorityOf(pod) < priority);
  if (lower.length === 0) return noVictims;
  using node = new WhatIf(deps, preemptor.pod, info);
  const rivals = deps.nominations.rivals(info.name, preemptor.key, priority);
  for (const { key, pod } of rivals) node.add(key, pod);
  for (const { key, pod } of lower) node.remove(key, pod);
  const rejection = rejectionBeside(node, rivals);
  if (rejection) return rejection;
  const { breaking, allowed } = splitByBudget(lower.toSorted(moreImportant), budgets);
  const mustEnd = ({ key, pod }: Nominated): boolean => {
    node.add(key, pod);
    if (!rejectionBeside(node, rivals)) return false;
    node.remove(key, pod);
    return true;
  };
  const broken = breaking.filter(mustEnd);
  const victims = [...broken, ...allowed.filter(mustEnd)].sort(moreImportant);
  return victims.length > 0 ? { node: info.name, victims, broken: broken.length } : noVictims;
}

/** It must fit beside the rivals, which are on the node, and also without them, because they may never come. */
function rejectionBeside(node: WhatIf, rivals: readonly Nominated[]): Rejection | undefined {
  const rejection = node.rejection();
  if (rejection || rivals.length === 0) return rejection;
  for (const { key, pod } of rivals) node.remove(key, pod);
  const without = node.rejection();
  for (const { key, pod } of rivals) node.add(key, pod);
  return without;
}
