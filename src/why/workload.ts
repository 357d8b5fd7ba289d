import { DaemonSet } from "#api/apps/daemon-set.ts";
import { type Deployment } from "#api/apps/deployment.ts";
import { isReady } from "#api/core/pod/pod-state.ts";
import { findCondition } from "#api/meta/condition.ts";
import { counted, type Explanation } from "./explanation.ts";
import { type SeenEvent, type WorkloadFacts } from "./facts.ts";
import { explainPod } from "./pod/explain-pod.ts";
import { describeEvent } from "./pod/pod-parts.ts";
import { explainRefusal, refusalInEvents } from "./refused-pods.ts";
import { ago, lasting, msOf } from "./times.ts";

const titleOf = ({ kind, object }: WorkloadFacts): string => `${kind} ${object.metadata.name}`;

/** A Deployment, ReplicaSet, StatefulSet or DaemonSet: its own problems first, then those of its pods. */
export function explainWorkload(facts: WorkloadFacts): Explanation {
  return (
    refused(facts) ?? notSeen(facts) ?? noneWanted(facts) ?? stuckPods(facts) ?? missingPods(facts) ?? complete(facts)
  );
}

/** The API server refuses its pods or its ReplicaSet: hop 9, or the check that refuses them. */
function refused(facts: WorkloadFacts): Explanation | undefined {
  const { object, newest, events, newestEvents, nowMs, pods } = facts;
  const sets = newest ? [newest, object] : [object];
  const condition = sets
    .map(({ status }) => findCondition(status.conditions ?? [], "ReplicaFailure"))
    .find((each) => each?.status === "True");
  const progressing = findCondition(object.status.conditions ?? [], "Progressing");
  const setRefused = progressing?.reason === "ReplicaSetCreateError" ? progressing : undefined;
  const found = condition ?? setRefused;
  if (!found) return pods.length < wanted(facts) ? refusalInEvents(titleOf(facts), facts) : undefined;
  const message = found.message ?? "";
  const what = condition ? "pods" : "ReplicaSet";
  const event = lastOf([...newestEvents, ...events], ["FailedCreate", "ReplicaSetCreateError"]);
  const evidence = [lasting(msOf(found.lastTransitionTime), nowMs), ...(event ? [describeEvent(event, nowMs)] : [])];
  return { ...explainRefusal(titleOf(facts), { message, evidence, what }), state: found.reason || "ReplicaFailure" };
}

const lastOf = (events: readonly SeenEvent[], reasons: readonly string[]): SeenEvent | undefined =>
  events.findLast(({ reason }) => reasons.includes(reason));

/** The controller has not seen the newest version. */
function notSeen(facts: WorkloadFacts): Explanation | undefined {
  const { object, nowMs } = facts;
  const { generation = 0, creationTimestamp } = object.metadata;
  if ((object.status.observedGeneration ?? 0) >= generation) return undefined;
  return {
    hop: "control",
    state: "Unobserved",
    headline: `${titleOf(facts)} was changed, and its controller has not reacted yet.`,
    evidence: [
      `generation ${generation}, observed ${object.status.observedGeneration ?? 0}`,
      `created ${ago(msOf(creationTimestamp), nowMs)}`,
    ],
    advice: ["Ask again in a moment. If this persists, check that the controllers are running."],
  };
}

const isDaemonSet = (object: WorkloadFacts["object"]): object is DaemonSet => object.kind === DaemonSet.kind;

const wanted = ({ object }: WorkloadFacts): number =>
  isDaemonSet(object) ? object.status.desiredNumberScheduled : object.spec.replicas;

function noNodes(facts: WorkloadFacts): Explanation {
  return {
    hop: undefined,
    state: "NoNodes",
    headline: `${titleOf(facts)} runs no pods because no node matches its template.`,
    evidence: ["status.desiredNumberScheduled: 0"],
    advice: ["Compare nodeSelector, affinity and tolerations of the template with the labels and taints of the nodes."],
  };
}

function noneWanted(facts: WorkloadFacts): Explanation | undefined {
  if (isDaemonSet(facts.object)) return wanted(facts) > 0 ? undefined : noNodes(facts);
  const isPaused = facts.kind === "Deployment" && (facts.object as Deployment).spec.paused;
  if (wanted(facts) > 0 && !(isPaused && facts.pods.length === 0)) return undefined;
  const name = facts.object.metadata.name;
  return {
    hop: undefined,
    state: isPaused ? "Paused" : "ScaledToZero",
    headline: isPaused
      ? `${titleOf(facts)} is paused: changes to its template are not rolled out.`
      : `${titleOf(facts)} runs no pods because it is scaled to zero.`,
    evidence: [`spec.replicas: ${wanted(facts)}`],
    advice: [
      isPaused
        ? `\`kubectl rollout resume deployment ${name}\``
        : `\`kubectl scale ${facts.kind.toLowerCase()} ${name} --replicas=1\``,
    ],
  };
}

/** The pod that is furthest behind represents the others. */
function stuckPods(facts: WorkloadFacts): Explanation | undefined {
  const { stuck, pods, object, nowMs } = facts;
  const explained = stuck.map(explainPod).filter(({ hop }) => hop !== undefined);
  const [first] = explained;
  if (!first) return undefined;
  const notReady = pods.filter((pod) => !isReady(pod)).length;
  const progressing = findCondition(object.status.conditions ?? [], "Progressing");
  const overdue =
    progressing?.reason === "ProgressDeadlineExceeded"
      ? [`rollout given up ${ago(msOf(progressing.lastTransitionTime), nowMs)}: ${progressing.message ?? ""}`]
      : [];
  const others = new Set(
    explained
      .slice(1)
      .filter(({ state }) => state !== first.state)
      .map(({ headline }) => headline),
  );
  return {
    ...first,
    headline: `${titleOf(facts)} has ${notReady} of ${counted(pods.length, "pod")} not ready. ${first.headline}`,
    evidence: [...first.evidence, ...overdue, ...others],
  };
}

function missingPods(facts: WorkloadFacts): Explanation | undefined {
  const { pods, nowMs, events, newestEvents } = facts;
  if (pods.length >= wanted(facts)) return undefined;
  const last = [...events, ...newestEvents].at(-1);
  return {
    hop: "control",
    state: "Progressing",
    headline: `${titleOf(facts)} has ${pods.length} of ${counted(wanted(facts), "pod")}: the rest have not been created yet.`,
    evidence: last ? [describeEvent(last, nowMs)] : ["no events"],
    advice: ["Ask again in a moment. If this persists, check that the controllers are running."],
  };
}

function complete(facts: WorkloadFacts): Explanation {
  const { object } = facts;
  const [ready = 0, available = 0] = isDaemonSet(object)
    ? [object.status.numberReady, object.status.numberAvailable]
    : [object.status.readyReplicas, object.status.availableReplicas];
  const notReady = facts.pods.filter((pod) => !isReady(pod)).length;
  return {
    hop: undefined,
    state: notReady === 0 ? "Available" : "Progressing",
    headline:
      notReady === 0
        ? `${titleOf(facts)} has all ${counted(wanted(facts), "pod")} ready: nothing is stuck.`
        : `${titleOf(facts)} is making progress: ${notReady} of ${counted(facts.pods.length, "pod")} not ready yet, and nothing has failed.`,
    evidence: [`${ready} ready, ${available} available of ${wanted(facts)}`],
    advice: [],
  };
}
