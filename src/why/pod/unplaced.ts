import { selectedNodeAnnotation } from "#api/core/persistent-volume/binding.ts";
import { isConditionTrue } from "#api/meta/condition.ts";
import { type AttemptAnswer, type NodeRejection } from "#trace/answers.ts";
import { explainClaim } from "../claim.ts";
import { counted, type Explanation, listed } from "../explanation.ts";
import { type PodFacts } from "../facts.ts";
import { ago, msOf } from "../times.ts";
import { explainFailedAttempt, explainGroup, explainHeldBack } from "./held-back.ts";
import { describeEvent, lastEvent, podName } from "./pod-parts.ts";
import { adviceFor, type Cause, causeOf, describeRejection, shortOf } from "./rejections.ts";

const defaultScheduler = "default-scheduler";

/** A pod without a node: hop 10. */
export function explainUnplaced(facts: PodFacts): Explanation | undefined {
  const { pod } = facts;
  if (pod.spec.nodeName) return undefined;
  const gates = (pod.spec.schedulingGates ?? []).map(({ name }) => name);
  if (gates.length > 0) return gated(facts, gates);
  const held = explainHeldBack(facts);
  if (held) return held;
  const last = facts.attempts?.at(-1);
  const claim = facts.rooms.length > 0 ? waitsForClaim(facts) : undefined;
  if (claim) return claim;
  // A claim that gets no volume also makes the attempt fail, so the claim is the better answer.
  const failed = explainFailedAttempt(facts);
  if (failed) return failed;
  const group = explainGroup(facts);
  if (group) return group;
  if (last && last.node === "") return unschedulable(facts, last);
  const condition = pod.status.conditions?.find(({ type }) => type === "PodScheduled");
  if (condition?.status === "False" && condition.reason === "Unschedulable") {
    return unschedulableByCondition(facts, condition.message ?? "");
  }
  if (last) return binding(facts, last);
  return notTried(facts);
}

function gated({ pod }: PodFacts, gates: readonly string[]): Explanation {
  return {
    hop: "schedule",
    state: "SchedulingGated",
    headline: `Pod ${podName(pod)} is not scheduled because ${counted(gates.length, "scheduling gate")} ${gates.length === 1 ? "holds" : "hold"} it: ${listed(gates)}.`,
    evidence: [`spec.schedulingGates: ${gates.join(", ")}`],
    advice: [
      "The controller that set a gate has to remove it from spec.schedulingGates; until then no scheduler considers the pod.",
    ],
  };
}

/** A claim keeps the pod from being placed: it does not exist, or its volume does not come. */
function waitsForClaim(facts: PodFacts): Explanation | undefined {
  const { pod, claims = [], attempts, nowMs } = facts;
  const name = podName(pod);
  const [missing] = claims.filter((claim) => typeof claim === "string");
  const last = attempts?.at(-1);
  const attempt = last ? [`attempt ${last.attempt} ${ago(last.atMs, nowMs)}: ${last.message}`] : [];
  const about = { hop: "schedule" as const, state: "Unschedulable" };
  if (missing !== undefined) {
    const headline = `Pod ${name} cannot be scheduled because PersistentVolumeClaim ${missing} does not exist.`;
    return {
      ...about,
      headline,
      evidence: attempt,
      advice: [`Create the claim ${missing}, or correct its name in the pod.`],
    };
  }
  // A claim that waits for its first pod holds nothing up.
  const stuck = claims
    .filter((claim) => typeof claim === "object")
    .find(({ claim, storageClass, events }) => {
      const isAsked = claim.metadata.annotations?.[selectedNodeAnnotation] !== undefined;
      const hasFailed = events.some(({ reason }) => reason === "ProvisioningFailed");
      return storageClass?.volumeBindingMode !== "WaitForFirstConsumer" || isAsked || hasFailed;
    });
  if (!stuck) return undefined;
  const { headline, evidence, advice } = explainClaim(stuck);
  return {
    ...about,
    headline: `Pod ${name} waits for its volume. ${headline}`,
    evidence: [...evidence, ...attempt],
    advice,
  };
}

function unschedulable(
  facts: PodFacts,
  { attempt, message, rejections, atMs, evaluated, victims }: AttemptAnswer,
): Explanation {
  const { pod, rooms, nowMs } = facts;
  if (evaluated === 0 && rooms.length === 0) return noNodes(facts);
  const isOnly = rejections.length === 1;
  const nodes = isOnly
    ? `the only node, ${rejections[0]?.node}, does not fit`
    : `none of ${rejections.length} nodes fits`;
  const reason = shortOf(facts, rejections) ?? describeCauses(rejections);
  return {
    hop: "schedule",
    state: "Unschedulable",
    headline: `Pod ${podName(pod)} cannot be scheduled: ${nodes}: ${reason}.`,
    evidence: [
      ...rejections.slice(0, maxNodes).map((rejection) => describeRejection(facts, rejection)),
      ...(rejections.length > maxNodes ? [`… and ${rejections.length - maxNodes} more nodes`] : []),
      `attempt ${attempt} ${ago(atMs, nowMs)}: ${message}`,
      ...(victims?.length ? [`these pods end for its sake: ${listed(victims.slice(0, maxNodes))}`] : []),
      ...describeQueue(facts),
    ],
    advice: [
      ...new Set(rejections.flatMap((rejection) => adviceFor(facts, rejection))),
      "The scheduler tries again as soon as a change to a node or a pod could help.",
    ],
  };
}

const maxNodes = 12;

/** `waits for changes: of a Node or Pod (NodeResourcesFit)`. */
function describeQueue({ queue, nowMs }: PodFacts): string[] {
  if (!queue) return [];
  const { place, untilMs, wokenBy } = queue;
  if (place === "backoff" && untilMs !== undefined) {
    return [`it is tried again in ${Math.max(Math.ceil((untilMs - nowMs) / 1000), 0)}s`];
  }
  if (place !== "unschedulable") return ["it is in the queue to be tried"];
  const changes = Object.entries(wokenBy).map(([name, kinds]) => `${kinds.join(" or ") || "nothing"} (${name})`);
  return changes.length > 0 ? [`it waits for a change of ${listed(changes)}`] : [];
}

/** `2 are short of cpu and 1 has a taint …`. */
function describeCauses(rejections: readonly NodeRejection[]): string {
  const causes = new Map<string, { cause: Cause; count: number }>();
  for (const rejection of rejections) {
    const cause = causeOf(rejection);
    causes.set(cause.one, { cause, count: (causes.get(cause.one)?.count ?? 0) + 1 });
  }
  const sorted = [...causes.values()].sort((a, b) => b.count - a.count);
  if (rejections.length === 1) return `it ${sorted[0]?.cause.one ?? ""}`;
  return listed(sorted.map(({ cause, count }) => `${count} ${count === 1 ? cause.one : cause.many}`));
}

function noNodes({ pod, nowMs, attempts }: PodFacts): Explanation {
  const last = attempts?.at(-1);
  return {
    hop: "schedule",
    state: "Unschedulable",
    headline: `Pod ${podName(pod)} cannot be scheduled because the cluster has no nodes.`,
    evidence: [
      "there is no Node object",
      ...(last ? [`attempt ${last.attempt} ${ago(last.atMs, nowMs)}: ${last.message}`] : []),
    ],
    advice: ["Start a node: `orlop up` runs a cluster with a node on this machine."],
  };
}

/** Used when the scheduler's own records cannot be read: the pod's condition has to suffice. */
function unschedulableByCondition(facts: PodFacts, message: string): Explanation {
  if (facts.rooms.length === 0 && message.includes("no nodes available")) return noNodes(facts);
  const event = lastEvent(facts, ["FailedScheduling"]);
  return {
    hop: "schedule",
    state: "Unschedulable",
    headline: `Pod ${podName(facts.pod)} cannot be scheduled: ${message || "the scheduler found no node that fits"}`,
    evidence: event ? [describeEvent(event, facts.nowMs)] : [],
    advice: ["Free resources, lower the pod's requests, or add a node; the scheduler retries automatically."],
  };
}

/** A node was chosen, but the pod is not bound to it yet. */
function binding(facts: PodFacts, { node, atMs }: AttemptAnswer): Explanation {
  const { pod, nowMs } = facts;
  const event = lastEvent(facts, ["FailedScheduling"]);
  return {
    hop: "schedule",
    state: "Pending",
    headline: `Pod ${podName(pod)} was assigned to node ${node} ${ago(atMs, nowMs)}, but the binding has not been written.`,
    evidence: event ? [describeEvent(event, nowMs)] : [],
    advice: ["Ask again in a moment. If this persists, look in the API server's log for why it refuses the binding."],
  };
}

/** No scheduler has tried. */
function notTried(facts: PodFacts): Explanation {
  const { pod, nowMs, events } = facts;
  const { schedulerName = defaultScheduler } = pod.spec;
  const createdMs = msOf(pod.metadata.creationTimestamp);
  const since = `created ${ago(createdMs, nowMs)}`;
  const evidence = [
    since,
    `spec.schedulerName: ${schedulerName}`,
    events.length === 0 ? "no events" : `${events.length} events, none from a scheduler`,
  ];
  if (schedulerName !== defaultScheduler) {
    return {
      hop: "schedule",
      state: "Pending",
      headline: `Pod ${podName(pod)} is waiting for a scheduler called ${schedulerName}, which has not tried to place it.`,
      evidence,
      advice: [
        `Start the scheduler ${schedulerName}, or create the pod again without spec.schedulerName to use the default scheduler.`,
      ],
    };
  }
  const isNew = createdMs !== undefined && nowMs - createdMs < 3000;
  return {
    hop: "schedule",
    state: "Pending",
    headline: isNew
      ? `Pod ${podName(pod)} was just created: the scheduler has not reached it yet.`
      : `Pod ${podName(pod)} is not scheduled because no scheduler has tried to place it.`,
    evidence: isConditionTrue(pod.status.conditions, "PodScheduled") ? [...evidence, "PodScheduled is True"] : evidence,
    advice: isNew
      ? ["Ask again in a moment."]
      : ["Check that a scheduler is running: `orlop up` and `orlop server` include one."],
  };
}
