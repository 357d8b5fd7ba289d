import { type QueueAnswer } from "#trace/answers.ts";
import { type Explanation } from "../explanation.ts";
import { type PodFacts } from "../facts.ts";
import { ago, msOf } from "../times.ts";
import { describeEvent, lastEvent, podName } from "./pod-parts.ts";

/** A pod without a node that the scheduler knows and holds back. */
export function explainHeldBack(facts: PodFacts): Explanation | undefined {
  const { queue } = facts;
  if (queue?.place === "gated") return notAdmitted(facts, queue);
  if (queue?.place === "permit") return waitsForPermission(facts, queue);
  return undefined;
}

function notAdmitted({ pod, nowMs }: PodFacts, { plugin, reason }: QueueAnswer): Explanation {
  return {
    hop: "schedule",
    state: "Pending",
    headline: `Pod ${podName(pod)} is not scheduled because the plugin ${plugin} holds it back: ${reason}.`,
    evidence: [`created ${ago(msOf(pod.metadata.creationTimestamp), nowMs)}`],
    advice: ["The scheduler tries the pod as soon as this has changed."],
  };
}

function waitsForPermission({ pod, attempts, nowMs }: PodFacts, { plugin }: QueueAnswer): Explanation {
  const last = attempts?.at(-1);
  return {
    hop: "schedule",
    state: "Pending",
    headline: `Pod ${podName(pod)} has a node and waits for the permission of the plugin ${plugin}.`,
    evidence: last?.node ? [`attempt ${last.attempt} ${ago(last.atMs, nowMs)}: ${last.message}`] : [],
    advice: ["If the permission is refused or does not come in time, the pod gives up the node and is tried again."],
  };
}

/**
 * A pod of a group that fits only without the others. Its attempts end in two ways by turns: it finds no room, or it has a node
 * and gives it up for the sake of the group. Both mean the same.
 */
export function explainGroup({ pod, attempts = [], nowMs }: PodFacts): Explanation | undefined {
  const reasons = attempts
    .slice(-recentAttempts)
    .flatMap(({ rejections }) => rejections.filter(({ plugin }) => plugin === "Coscheduling"))
    .flatMap(({ reasons }) => reasons);
  const reason = reasons.at(-1);
  const last = attempts.at(-1);
  const group = /^another pod of group (\S+) /.exec(reason ?? "")?.[1];
  if (last?.node !== "" || !group) return undefined;
  return {
    hop: "schedule",
    state: "Unschedulable",
    headline: `Pod ${podName(pod)} cannot be scheduled: the pods of its group ${group} do not all fit at the same time.`,
    evidence: [
      `it had a node and gave it up: ${reason}`,
      `attempt ${last.attempt} ${ago(last.atMs, nowMs)}: ${last.message}`,
    ],
    advice: [
      "Look at the other pods of the group first: one of them may fit nowhere (`orlop why pod/NAME`).",
      "Lower what the pods of the group request or how many of them are enough, delete other pods, or add a node.",
      "The scheduler tries again as soon as a change to a node or a pod could help.",
    ],
  };
}
const recentAttempts = 10;

/** A plugin or an extender failed, so nothing is known about nodes. */
export function explainFailedAttempt(facts: PodFacts): Explanation | undefined {
  const condition = facts.pod.status.conditions?.find(({ type }) => type === "PodScheduled");
  if (condition?.status !== "False" || condition.reason !== "SchedulerError") return undefined;
  const event = lastEvent(facts, ["FailedScheduling"]);
  return {
    hop: "schedule",
    state: "SchedulerError",
    headline: `Pod ${podName(facts.pod)} is not scheduled because the last attempt failed: ${condition.message ?? ""}`,
    evidence: event ? [describeEvent(event, facts.nowMs)] : [],
    advice: ["Mend the plugin or the extender that the message names. The scheduler tries again after a few seconds."],
  };
}
