import { isConditionTrue } from "#api/meta/condition.ts";
import { type AttemptAnswer, type NodeRejection } from "#trace/answers.ts";
import { counted, type Explanation, listed } from "../explanation.ts";
import { type PodFacts } from "../facts.ts";
import { adviceFor, type Cause, causeOf, shortOf, tellRejection } from "../rejections.ts";
import { ago, msOf } from "../times.ts";
import { lastEvent, podName, tellEvent } from "./pod-parts.ts";

const defaultScheduler = "default-scheduler";

/** A pod without a node: hop 10. */
export function explainUnplaced(facts: PodFacts): Explanation | undefined {
  const { pod } = facts;
  if (pod.spec.nodeName) return undefined;
  const gates = (pod.spec.schedulingGates ?? []).map(({ name }) => name);
  if (gates.length > 0) return gated(facts, gates);
  const last = facts.attempts?.at(-1);
  if (last && last.node === "") return unschedulable(facts, last);
  const condition = pod.status.conditions?.find(({ type }) => type === "PodScheduled");
  if (condition?.status === "False" && condition.reason === "Unschedulable") {
    return unschedulableByCondition(facts, condition.message ?? "");
  }
  if (last) return binding(facts, last);
  return untouched(facts);
}

function gated({ pod }: PodFacts, gates: readonly string[]): Explanation {
  return {
    hop: "schedule",
    state: "SchedulingGated",
    headline: `Pod ${podName(pod)} is not scheduled because ${counted(gates.length, "scheduling gate")} ${gates.length === 1 ? "holds" : "hold"} it: ${listed(gates)}.`,
    evidence: [`spec.schedulingGates: ${gates.join(", ")}`],
    advice: ["Whoever set a gate has to remove it from spec.schedulingGates; no scheduler looks at the pod before."],
  };
}

function unschedulable(facts: PodFacts, { attempt, message, rejections, atMs, evaluated }: AttemptAnswer): Explanation {
  const { pod, rooms, nowMs } = facts;
  if (evaluated === 0 && rooms.length === 0) return noNodes(facts);
  const isOnly = rejections.length === 1;
  const nodes = isOnly
    ? `the only node ${rejections[0]?.node} will not take it`
    : `none of ${rejections.length} nodes will take it`;
  const reason = shortOf(facts, rejections) ?? tellCauses(rejections);
  return {
    hop: "schedule",
    state: "Unschedulable",
    headline: `Pod ${podName(pod)} has no node: ${nodes}: ${reason}.`,
    evidence: [
      ...rejections.slice(0, maxNodes).map((rejection) => tellRejection(facts, rejection)),
      ...(rejections.length > maxNodes ? [`… and ${rejections.length - maxNodes} more nodes`] : []),
      `attempt ${attempt} ${ago(atMs, nowMs)}: ${message}`,
    ],
    advice: [
      ...new Set(rejections.flatMap((rejection) => adviceFor(facts, rejection))),
      "It is tried again by itself as soon as a change on a node or of a pod could help.",
    ],
  };
}

const maxNodes = 12;

/** `2 are short of cpu and 1 has a taint …`. */
function tellCauses(rejections: readonly NodeRejection[]): string {
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
    headline: `Pod ${podName(pod)} has no node because the cluster has none.`,
    evidence: [
      "there is no Node object",
      ...(last ? [`attempt ${last.attempt} ${ago(last.atMs, nowMs)}: ${last.message}`] : []),
    ],
    advice: ["Start a node: `orlop up` runs one on this machine, `orlop agent` joins another."],
  };
}

/** The scheduler's own records are out of reach: what it wrote into the pod has to do. */
function unschedulableByCondition(facts: PodFacts, message: string): Explanation {
  if (facts.rooms.length === 0 && message.includes("no nodes available")) return noNodes(facts);
  const event = lastEvent(facts, ["FailedScheduling"]);
  return {
    hop: "schedule",
    state: "Unschedulable",
    headline: `Pod ${podName(facts.pod)} has no node: ${message || "the scheduler found none that fits"}`,
    evidence: event ? [tellEvent(event, facts.nowMs)] : [],
    advice: ["Make room, change what the pod asks for, or add a node; it is tried again by itself."],
  };
}

/** A node was found, and yet the pod is not on it. */
function binding(facts: PodFacts, { node, atMs }: AttemptAnswer): Explanation {
  const { pod, nowMs } = facts;
  const event = lastEvent(facts, ["FailedScheduling"]);
  return {
    hop: "schedule",
    state: "Pending",
    headline: `Pod ${podName(pod)} was given node ${node} ${ago(atMs, nowMs)}, but the binding has not been written.`,
    evidence: event ? [tellEvent(event, nowMs)] : [],
    advice: ["Look again in a moment; if it stays, the API server refuses or loses the binding: see its log."],
  };
}

/** Nobody has tried. */
function untouched(facts: PodFacts): Explanation {
  const { pod, nowMs, events } = facts;
  const { schedulerName = defaultScheduler } = pod.spec;
  const createdMs = msOf(pod.metadata.creationTimestamp);
  const since = `created ${ago(createdMs, nowMs)}`;
  const evidence = [
    since,
    `spec.schedulerName: ${schedulerName}`,
    events.length === 0 ? "no events" : `${events.length} events, none of a scheduler`,
  ];
  if (schedulerName !== defaultScheduler) {
    return {
      hop: "schedule",
      state: "Pending",
      headline: `Pod ${podName(pod)} waits for a scheduler called ${schedulerName}, and none of that name has looked at it.`,
      evidence,
      advice: [
        `Start the scheduler ${schedulerName}, or make the pod anew without spec.schedulerName: then the default one takes it.`,
      ],
    };
  }
  const isNew = createdMs !== undefined && nowMs - createdMs < 3000;
  return {
    hop: "schedule",
    state: "Pending",
    headline: isNew
      ? `Pod ${podName(pod)} was only just created: the scheduler has not come to it yet.`
      : `Pod ${podName(pod)} is not scheduled because no scheduler has looked at it.`,
    evidence: isConditionTrue(pod.status.conditions, "PodScheduled") ? [...evidence, "PodScheduled is True"] : evidence,
    advice: isNew
      ? ["Ask again in a moment."]
      : ["Check that a scheduler runs: `orlop up` and `orlop server` include one."],
  };
}
