import { isReadyHop } from "./describe-hop.ts";
import { type Hop } from "./hop.ts";
import { isNewPod } from "./plan-rows.ts";
import { endMs } from "./tree.ts";

/** The progress of an apply, in milliseconds from its first byte. */
export interface Milestones {
  readonly startMs: number;
  /** When the last hop ended. */
  readonly lastMs: number;
  readonly pods: readonly string[];
  readonly placed: number;
  readonly ready: number;
  /** Pods whose node reports about them, but records no hops: it has joined from elsewhere. Whether they are ready is unknown. */
  readonly unrecorded: number;
  /** When the last pod was ready; undefined while one is not. */
  readonly allReadyMs: number | undefined;
  /** When the last pod received traffic; undefined if no service is involved. */
  readonly servedMs: number | undefined;
}

export function milestonesOf(hops: readonly Hop[]): Milestones {
  const startMs = Math.min(...hops.map((hop) => hop.startMs));
  const pods = [...new Set(hops.filter((hop) => isNewPod(hop) && statusOf(hop) < 400).map(podOf))];
  const firstOf = (is: (hop: Hop) => boolean): Map<string, number> => {
    const found = new Map<string, number>();
    for (const hop of hops) if (is(hop) && !found.has(podOf(hop))) found.set(podOf(hop), endMs(hop) - startMs);
    return found;
  };
  const placed = firstOf(({ hop, facts }) => hop === "schedule" && Boolean(facts?.node));
  const ready = firstOf(isReadyHop);
  const started = firstOf(({ hop }) => hop === "run");
  const reported = firstOf(isPodReport);
  const readyTimes = pods.flatMap((pod) => ready.get(pod) ?? []);
  const isComplete = pods.length > 0 && readyTimes.length === pods.length;
  const allReadyMs = isComplete ? Math.max(...readyTimes) : undefined;
  return {
    startMs,
    lastMs: Math.max(...hops.map(endMs)) - startMs,
    pods,
    placed: pods.filter((pod) => placed.has(pod)).length,
    ready: readyTimes.length,
    unrecorded: pods.filter((pod) => placed.has(pod) && reported.has(pod) && !started.has(pod)).length,
    allReadyMs,
    servedMs: servedMs(hops, startMs, allReadyMs),
  };
}

/**
 * Rules are also programmed before, and later for other reasons: the first that begin after all pods are ready count.
 */
function servedMs(hops: readonly Hop[], startMs: number, allReadyMs: number | undefined): number | undefined {
  const serving = hops.filter(({ hop }) => hop === "serve");
  if (serving.length === 0) return undefined;
  const complete = serving.filter((hop) => allReadyMs !== undefined && hop.startMs - startMs >= allReadyMs);
  return complete.length > 0 ? Math.min(...complete.map(endMs)) - startMs : Math.max(...serving.map(endMs)) - startMs;
}

const isPodReport = ({ hop, object, facts }: Hop): boolean =>
  hop === "client" && object?.resource === "pods" && facts?.subresource === "status";

const podOf = ({ object }: Hop): string => `${object?.namespace}/${object?.name}`;
const statusOf = ({ facts }: Hop): number => (typeof facts?.status === "number" ? facts.status : 0);
