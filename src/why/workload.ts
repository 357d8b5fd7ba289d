import { type DaemonSet } from "#api/apps/daemon-set.ts";
import { type Deployment } from "#api/apps/deployment.ts";
import { type StatefulSet } from "#api/apps/stateful-set.ts";
import { isReady } from "#api/core/pod/pod-state.ts";
import { findCondition } from "#api/meta/condition.ts";
import { quotaAdvice } from "./allowances.ts";
import { counted, type Explanation } from "./explanation.ts";
import { type SeenEvent, type WorkloadFacts } from "./facts.ts";
import { explainPod } from "./pod/explain-pod.ts";
import { describeEvent } from "./pod/pod-parts.ts";
import { countKept, replacementAdvice } from "./revisions.ts";
import { ago, lasting, msOf } from "./times.ts";

const titleOf = ({ kind, object }: WorkloadFacts): string => `${kind} ${object.metadata.name}`;

/** A kind that keeps pods running: its own problems first, then those of its pods. */
export function explainWorkload(facts: WorkloadFacts): Explanation {
  return (
    refused(facts) ??
    notSeen(facts) ??
    noneWanted(facts) ??
    stuckPods(facts) ??
    missingPods(facts) ??
    keptPods(facts) ??
    complete(facts)
  );
}

/** The API server refuses its pods or its ReplicaSet: hop 9, or the check that refuses them. */
function refused(facts: WorkloadFacts): Explanation | undefined {
  const { object, newest, events, newestEvents, nowMs } = facts;
  const sets = newest ? [newest, object] : [object];
  const condition = sets
    .map(({ status }) => findCondition(status.conditions ?? [], "ReplicaFailure"))
    .find((each) => each?.status === "True");
  const progressing = findCondition(object.status.conditions ?? [], "Progressing");
  const setRefused = progressing?.reason === "ReplicaSetCreateError" ? progressing : undefined;
  const seen = [...newestEvents, ...events].toSorted((a, b) => (a.lastMs ?? 0) - (b.lastMs ?? 0));
  const event = lastOf(seen, ["FailedCreate", "ReplicaSetCreateError"]);
  const found = (condition && renewed(condition, event)) ?? setRefused ?? refusedByEvent(facts, event);
  if (!found) return undefined;
  const message = found.message ?? "";
  const claim = event && claimIn(event);
  const what = claim ? `claim ${claim}` : setRefused ? "ReplicaSet" : "pods";
  return {
    hop: gateOf(message),
    state: found.reason || "ReplicaFailure",
    headline: `${titleOf(facts)} cannot make progress because the API server refuses its ${what}: ${message}`,
    evidence: [
      ...(found.lastTransitionTime ? [lasting(msOf(found.lastTransitionTime), nowMs)] : []),
      ...(event ? [describeEvent(event, nowMs)] : []),
    ],
    advice: [
      gateAdvice(message, claim ? "spec.volumeClaimTemplates" : "the pod template"),
      "The controller retries automatically, with growing pauses.",
    ],
  };
}

interface Failure {
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string;
}

/** The condition keeps its first message as long as it is true, and the newest event says what is wrong now. */
function renewed(condition: Failure, event: SeenEvent | undefined): Failure {
  const isNewer = (event?.lastMs ?? 0) > (msOf(condition.lastTransitionTime) ?? 0);
  return event?.reason === "FailedCreate" && isNewer ? { ...condition, message: refusalIn(event) } : condition;
}

/** Some kinds have no condition for it: then the last event says that pods are refused. */
function refusedByEvent(
  { kind, object, events, pods }: WorkloadFacts,
  event: SeenEvent | undefined,
): Failure | undefined {
  if (kind !== "StatefulSet" && kind !== "DaemonSet") return undefined;
  if (!event || event !== events.at(-1) || pods.length >= wantedBy({ kind, object })) return undefined;
  return { reason: event.reason, message: refusalIn(event) };
}

/** What the API server said, without what the controller and its recorder put before it. */
export const refusalIn = ({ message }: SeenEvent): string =>
  message.replace(
    /^(\(combined from similar events\): )?(Error creating: |create (Claim \S+ )?Pod \S+ in StatefulSet \S+ failed error: )?/,
    "",
  );

/** The claim that a StatefulSet could not create. */
const claimIn = ({ message }: SeenEvent): string | undefined =>
  /^(?:\(combined from similar events\): )?create Claim (\S{1,253}) Pod /.exec(message)?.[1];

export function gateOf(message: string): Explanation["hop"] {
  if (/is invalid/.test(message)) return "schema";
  if (/cannot (create|patch|update)/.test(message)) return "authorize";
  return "admit";
}

export function gateAdvice(message: string, template = "the pod template"): string {
  const account =
    /serviceaccount "([^"]+)" not found/i.exec(message)?.[1] ??
    /error looking up service account \S+\/(\S+):/.exec(message)?.[1];
  if (account) return `Create the service account ${account}, or remove spec.serviceAccountName from the template.`;
  if (/is invalid/.test(message)) return `Correct ${template}: the message names the field.`;
  const quota = quotaAdvice(message);
  if (quota) return quota;
  if (/violates PodSecurity/.test(message))
    return "Bring the pod template in line with the namespace's Pod Security level, or lower that level.";
  if (/failed calling webhook "/.test(message))
    return "The webhook gave no answer that can be used: start its server, or correct or delete its configuration.";
  if (/admission webhook "([^"]+)"/.test(message)) return "The webhook named in the message refused it: ask its owner.";
  return "The message says which rule refused it: change the template or the rule.";
}

export const lastOf = (events: readonly SeenEvent[], reasons: readonly string[]): SeenEvent | undefined =>
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

const wanted = (facts: WorkloadFacts): number => wantedBy(facts);

function wantedBy({ kind, object }: Pick<WorkloadFacts, "kind" | "object">): number {
  if (kind === "DaemonSet") return (object as DaemonSet).status.desiredNumberScheduled;
  return (object as Deployment).spec.replicas;
}

function noneWanted(facts: WorkloadFacts): Explanation | undefined {
  const isPaused = facts.kind === "Deployment" && (facts.object as Deployment).spec.paused;
  if (wanted(facts) > 0 && !(isPaused && facts.pods.length === 0)) return undefined;
  const name = facts.object.metadata.name;
  if (facts.kind === "DaemonSet") return noNode(facts);
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

function noNode(facts: WorkloadFacts): Explanation {
  const { nodeSelector = {} } = (facts.object as DaemonSet).spec.template.spec;
  const labels = Object.entries(nodeSelector).map(([key, value]) => `${key}=${value}`);
  return {
    hop: undefined,
    state: "NoNodes",
    headline: `${titleOf(facts)} runs no pods because no node fits.`,
    evidence: labels.length > 0 ? [`spec.template.spec.nodeSelector: ${labels.join(", ")}`] : [],
    advice: ["Compare the labels and taints of the nodes with the template's nodeSelector, affinity and tolerations."],
  };
}

/** The pod that is furthest behind represents the others. */
function stuckPods(facts: WorkloadFacts): Explanation | undefined {
  const { stuck, pods, object, nowMs } = facts;
  const explained = stuck
    .map((each) => ({ ...explainPod(each), pod: each.pod }))
    .filter(({ hop }) => hop !== undefined);
  const [worst] = explained;
  if (!worst) return undefined;
  const { pod, ...first } = worst;
  const replacement = replacementAdvice(facts, pod);
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
    evidence: [...first.evidence, ...overdue, ...others, ...heldUp(facts)],
    advice: replacement ? [replacement, ...first.advice] : first.advice,
  };
}

/** A StatefulSet that starts its pods in order creates the next one when those before it are ready. */
function heldUp(facts: WorkloadFacts): string[] {
  const missing = wanted(facts) - facts.pods.length;
  const policy = facts.kind === "StatefulSet" ? (facts.object as StatefulSet).spec.podManagementPolicy : "Parallel";
  if (missing <= 0 || policy === "Parallel") return [];
  return [`${counted(missing, "more pod")} of ${wanted(facts)} will be created when it is ready, one after another`];
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

/** All are ready, but some are not what the template says, and nothing changes that by itself. */
function keptPods(facts: WorkloadFacts): Explanation | undefined {
  const kept = countKept(facts);
  if (kept <= 0 || facts.pods.some((pod) => !isReady(pod))) return undefined;
  const { namespace } = facts.object.metadata;
  return {
    hop: undefined,
    state: "OnDelete",
    headline: `${titleOf(facts)} has ${allOf(wanted(facts))} ready, but ${kept === 1 ? "1 pod has" : `${kept} pods have`} an older template, because its updateStrategy is OnDelete.`,
    evidence: [
      `spec.updateStrategy.type: OnDelete`,
      `${wanted(facts) - kept} of ${wanted(facts)} with the newest template`,
    ],
    advice: [
      `Delete each pod that is to get the newest template: \`kubectl delete pod NAME -n ${namespace}\`.`,
      "Or set spec.updateStrategy.type to RollingUpdate.",
    ],
  };
}

function complete(facts: WorkloadFacts): Explanation {
  const { ready, available } = countsOf(facts);
  const notReady = facts.pods.filter((pod) => !isReady(pod)).length;
  return {
    hop: undefined,
    state: notReady === 0 ? "Available" : "Progressing",
    headline:
      notReady === 0
        ? `${titleOf(facts)} has ${allOf(wanted(facts))} ready: nothing is stuck.`
        : `${titleOf(facts)} is making progress: ${notReady} of ${counted(facts.pods.length, "pod")} not ready yet, and nothing has failed.`,
    evidence: [`${ready} ready, ${available} available of ${wanted(facts)}`],
    advice: [],
  };
}

const allOf = (pods: number): string => (pods === 1 ? "its only pod" : `all ${pods} pods`);

function countsOf({ kind, object }: WorkloadFacts): { ready: number; available: number } {
  if (kind === "DaemonSet") {
    const { numberReady, numberAvailable = 0 } = (object as DaemonSet).status;
    return { ready: numberReady, available: numberAvailable };
  }
  const { readyReplicas = 0, availableReplicas = 0 } = (object as Deployment).status;
  return { ready: readyReplicas, available: availableReplicas };
}
