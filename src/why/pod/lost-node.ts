import { type Node } from "#api/core/node.ts";
import { type Explanation } from "../explanation.ts";
import { type NodeFacts, type PodFacts } from "../facts.ts";
import { ago, lasting, msOf } from "../times.ts";
import { describeEvent, podName } from "./pod-parts.ts";

const readyOf = ({ status }: Node) => status?.conditions?.find(({ type }) => type === "Ready");

/** The pod's node is gone or silent, so the pod's status is out of date. */
export function explainLostNode(facts: PodFacts): Explanation | undefined {
  const { pod, node, nowMs, heartbeatMs } = facts;
  const { nodeName } = pod.spec;
  if (!nodeName) return undefined;
  if (!node) {
    return {
      hop: "run",
      state: "Unknown",
      headline: `Pod ${podName(pod)} is assigned to node ${nodeName}, but there is no such node.`,
      evidence: [`spec.nodeName: ${nodeName}`],
      advice: [`Start a node called ${nodeName}, or delete the pod: pods of deleted nodes are removed after a while.`],
    };
  }
  const ready = readyOf(node);
  if (!ready || ready.status === "True") return undefined;
  const since = ago(msOf(ready.lastTransitionTime), nowMs);
  const isLost = ready.status === "Unknown";
  return {
    hop: "run",
    state: isLost ? "Unknown" : "NodeNotReady",
    headline: isLost
      ? `Pod ${podName(pod)} is in an unknown state because its node ${nodeName} was lost ${since}.`
      : `Pod ${podName(pod)} cannot run because its node ${nodeName} has not been ready ${lasting(msOf(ready.lastTransitionTime), nowMs)}: ${ready.message ?? ready.reason ?? ""}.`,
    evidence: [
      `node ${nodeName}: Ready is ${ready.status} (${ready.reason ?? ""}): ${ready.message ?? ""}`,
      heartbeatMs === undefined ? "it has never sent a heartbeat" : `last heartbeat ${ago(heartbeatMs, nowMs)}`,
      ...evictionOf(facts),
    ],
    advice: [
      `Bring the node back: \`orlop why node/${nodeName}\`. A pod of a Deployment is replaced on another node when its toleration ends.`,
    ],
  };
}

function evictionOf({ pod, node }: PodFacts): string[] {
  const taint = node?.spec?.taints?.find(
    ({ effect, key }) => effect === "NoExecute" && key.startsWith("node.kubernetes.io/"),
  );
  const toleration = pod.spec.tolerations?.find(({ key, effect }) => key === taint?.key && effect === "NoExecute");
  if (!taint || toleration?.tolerationSeconds === undefined) return [];
  return [`it is evicted ${toleration.tolerationSeconds}s after the node was tainted with ${taint.key}`];
}

/** The question is about the node itself. */
export function explainNode(facts: NodeFacts): Explanation {
  const { node, nowMs, heartbeatMs, events } = facts;
  const ready = readyOf(node);
  const beat =
    heartbeatMs === undefined ? "it has never sent a heartbeat" : `last heartbeat ${ago(heartbeatMs, nowMs)}`;
  const evidence = [
    `Ready is ${ready?.status ?? "not reported"}${ready?.reason ? ` (${ready.reason})` : ""}${ready?.message ? `: ${ready.message}` : ""}`,
    beat,
    ...pressuresOf(node).map(({ type, message }) => `${type}: ${message ?? ""}`),
    ...(node.spec?.taints ?? []).map(({ key, value, effect }) => `taint ${key}${value ? `=${value}` : ""}:${effect}`),
    ...events.slice(-3).map((event) => describeEvent(event, nowMs)),
  ];
  return { ...(ready?.status === "True" ? judgeReady(node) : judgeLost(facts)), evidence };
}

const pressuresOf = (node: Node) =>
  (node.status?.conditions ?? []).filter(({ type, status }) => type !== "Ready" && status === "True");

type Judgement = Omit<Explanation, "evidence">;

function judgeLost({ node, nowMs }: NodeFacts): Judgement {
  const name = node.metadata.name;
  const ready = readyOf(node);
  if (ready?.status === "False") {
    return {
      hop: "run",
      state: "NotReady",
      headline: `Node ${name} is not ready: ${ready.message ?? ready.reason ?? ""}.`,
      advice: ["The kubelet runs, but reports a problem of its machine: see the message above."],
    };
  }
  return {
    hop: "run",
    state: "Unknown",
    headline: ready
      ? `Node ${name} was lost ${ago(msOf(ready.lastTransitionTime), nowMs)}: its kubelet sends no heartbeats.`
      : `Node ${name} has never reported: no kubelet runs for it.`,
    advice: ["Check that the machine is up, that the kubelet runs on it, and that it can reach the API server."],
  };
}

function judgeReady(node: Node): Judgement {
  const name = node.metadata.name;
  const pressures = pressuresOf(node);
  if (node.spec?.unschedulable) {
    return {
      hop: undefined,
      state: "Ready,SchedulingDisabled",
      headline: `Node ${name} is ready but cordoned: it gets no new pods.`,
      advice: [`Allow new pods again: \`kubectl uncordon ${name}\`.`],
    };
  }
  if (pressures.length > 0) {
    return {
      hop: undefined,
      state: "Pressure",
      headline: `Node ${name} is ready, but short of resources: ${pressures.map(({ type }) => type).join(", ")}.`,
      advice: ["Pods may be evicted: free memory, disk or processes on it."],
    };
  }
  return { hop: undefined, state: "Ready", headline: `Node ${name} is ready: nothing is stuck.`, advice: [] };
}
