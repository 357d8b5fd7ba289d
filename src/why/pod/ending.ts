import { type Namespace } from "#api/core/namespace.ts";
import { isFinished } from "#api/core/pod/pod-state.ts";
import { humanDuration } from "#api/meta/age.ts";
import { type ApiObject } from "#api/resource.ts";
import { claimProtectionFinalizer, serviceCidrFinalizer, volumeProtectionFinalizer } from "#api/well-known.ts";
import { own } from "#lib/data/own.ts";
import { counted, type Explanation, listed } from "../explanation.ts";
import { type ObjectFacts, type PodFacts } from "../facts.ts";
import { ago, lasting, msOf } from "../times.ts";
import { describeEvent, lastEvent, partsOf, podName } from "./pod-parts.ts";

/** A pod that is being deleted and still exists. */
export function explainEndingPod(facts: PodFacts): Explanation | undefined {
  const { pod, nowMs, node } = facts;
  const { deletionTimestamp, deletionGracePeriodSeconds = 0, finalizers = [] } = pod.metadata;
  const goneByMs = msOf(deletionTimestamp);
  if (goneByMs === undefined) return undefined;
  const asked = `deleted ${ago(goneByMs - deletionGracePeriodSeconds * 1000, nowMs)}, with a grace period of ${deletionGracePeriodSeconds}s`;
  if (finalizers.length > 0 && (isFinished(pod) || nowMs >= goneByMs)) return heldBy(`Pod ${podName(pod)}`, pod, asked);
  if (pod.spec.nodeName && (!node || isSilent(facts))) return lostNode(facts, asked);
  return nowMs < goneByMs ? inGrace(facts, { asked, goneByMs }) : overdue(facts, { asked, goneByMs });
}

const ending = { hop: undefined, state: "Terminating" } as const;

function lostNode({ pod, node, heartbeatMs, nowMs }: PodFacts, asked: string): Explanation {
  const { nodeName } = pod.spec;
  const why = node ? `has sent no heartbeat ${lasting(heartbeatMs, nowMs)}` : "is gone";
  return {
    ...ending,
    headline: `Pod ${podName(pod)} cannot terminate because its node ${nodeName} ${why}.`,
    evidence: [asked, "only the node itself can confirm that the containers have stopped"],
    advice: [
      "Bring the node back, or delete the Node object if it will not come back.",
      `If you are sure that its containers have stopped: \`kubectl delete pod ${podName(pod)} --force --grace-period=0 -n ${pod.metadata.namespace}\`.`,
    ],
  };
}

interface Asked {
  /** When the deletion was requested, and with which grace period. */
  readonly asked: string;
  readonly goneByMs: number;
}

function inGrace(facts: PodFacts, { asked, goneByMs }: Asked): Explanation {
  const { pod, nowMs } = facts;
  const hook = lastEvent(facts, ["FailedPreStopHook"]);
  const hooks = partsOf(pod).flatMap(({ container, status }) =>
    container.lifecycle?.preStop && status?.state.running ? [container.name] : [],
  );
  return {
    ...ending,
    headline: `Pod ${podName(pod)} is terminating: its containers have ${humanDuration(goneByMs - nowMs)} left before they are killed.`,
    evidence: [
      asked,
      ...hooks.map((name) => `container ${name} has a preStop hook, which runs before SIGTERM is sent`),
      ...(hook ? [describeEvent(hook, nowMs)] : []),
    ],
    advice: [
      hooks.length > 0
        ? "The grace period includes the preStop hook: make the hook shorter if it takes too long."
        : "A program that handles SIGTERM is gone immediately; one that ignores it takes the whole grace period.",
    ],
  };
}

function overdue({ pod, nowMs, events }: PodFacts, { asked, goneByMs }: Asked): Explanation {
  const { nodeName = "" } = pod.spec;
  return {
    ...ending,
    headline: `Pod ${podName(pod)} should have been gone ${ago(goneByMs, nowMs)}, but its node ${nodeName} has not cleaned it up.`,
    evidence: [asked, ...events.slice(-2).map((event) => describeEvent(event, nowMs))],
    advice: [
      `Look at the node: \`orlop why node/${nodeName}\`. The cause may be a process that cannot be killed or a mount that hangs.`,
    ],
  };
}

const silentMs = 60_000;
const isSilent = ({ heartbeatMs, nowMs }: PodFacts): boolean =>
  heartbeatMs !== undefined && nowMs - heartbeatMs > silentMs;

/** An object that nothing but its finalizers keeps. */
export function heldBy(name: string, { metadata }: ApiObject, asked: string): Explanation {
  const { finalizers = [] } = metadata;
  const known = finalizers.map((finalizer) =>
    own(knownHolders, finalizer)?.replaceAll(/\bNAME\b/g, () => metadata.name ?? ""),
  );
  return {
    hop: undefined,
    state: "Terminating",
    headline: `${name} cannot be removed because ${counted(finalizers.length, "finalizer")} ${finalizers.length === 1 ? "holds" : "hold"} it: ${listed(finalizers)}.`,
    evidence: [asked, `metadata.finalizers: ${finalizers.join(", ")}`],
    advice: known.every((advice) => advice !== undefined)
      ? known
      : [
          "The controller that set a finalizer removes it after its cleanup: check that this controller runs.",
          "If it will never run again, remove the finalizer by hand; what it should have cleaned up stays behind.",
        ],
  };
}

/** Finalizers of Kubernetes itself, which are not to be removed by hand, and what they wait for. NAME is the object's. */
const knownHolders: Readonly<Record<string, string>> = {
  [claimProtectionFinalizer]: "A claim stays until no pod uses it. Ask again in a moment.",
  [volumeProtectionFinalizer]:
    "A volume stays until its claim is gone: `kubectl get pv` shows the claim. Delete that first.",
  [serviceCidrFinalizer]:
    "A range stays for some seconds, and until no service has an address that only it offers: `kubectl get ipaddress`.",
  foregroundDeletion: "It stays until the objects that it owns are gone: find one of them, and why it stays.",
  "customresourcecleanup.apiextensions.k8s.io":
    "A definition stays until its objects are gone, and an object with a finalizer keeps it. See which are left: `kubectl get NAME -A`. See what keeps one: `orlop why NAME/OBJECT -n NAMESPACE`.",
};

/** Any other object that is being deleted. */
export function explainEndingObject({ object, resource, nowMs }: ObjectFacts): Explanation | undefined {
  const { deletionTimestamp, finalizers = [], name = "" } = object.metadata;
  if (!deletionTimestamp) return undefined;
  const asked = `deleted ${ago(msOf(deletionTimestamp), nowMs)}`;
  const title = `${resource.kind} ${name}`;
  if (resource.kind === "Namespace") {
    const remaining = remainingIn(object as Namespace);
    if (remaining.length > 0) return heldNamespace(name, asked, remaining);
  }
  if (finalizers.length > 0) return heldBy(title, object, asked);
  return {
    hop: undefined,
    state: "Terminating",
    headline: `${title} is being deleted, and nothing seems to block it.`,
    evidence: [asked],
    advice: ["Ask again in a moment."],
  };
}

const remainingIn = ({ status }: Namespace): string[] =>
  (status?.conditions ?? []).flatMap(({ status: value, message }) => (value === "True" && message ? [message] : []));

/** Parses `configmaps. has 2 resource instances` and `example.com/hold in 2 resource instances` in the conditions. */
function heldNamespace(name: string, asked: string, remaining: readonly string[]): Explanation {
  const text = remaining.join("\n");
  const silent = silentServices(remaining);
  if (silent.length > 0) return undescribed(name, [asked, ...remaining], silent);
  const kinds = [...text.matchAll(/([\w.-]+?)\.? has (\d+) resource instances/g)];
  const holders = [...text.matchAll(/(\S+) in \d+ resource instances/g)].map(([, finalizer = ""]) => finalizer);
  const left = listed(kinds.map(([, kind, count]) => `${count} ${kind}`));
  const held = holders.length > 0 ? `, held by the finalizer ${listed(holders)}` : "";
  const [, kind = ""] = kinds[0] ?? [];
  return {
    hop: undefined,
    state: "Terminating",
    headline: `Namespace ${name} cannot be removed because it still contains objects: ${left ? `${left}${held}.` : remaining[0]}`,
    evidence: [asked, ...remaining],
    advice: kind
      ? [
          `See them with \`kubectl get ${kind} -n ${name}\`, then find what holds one with \`orlop why ${kind}/NAME -n ${name}\`.`,
        ]
      : ["Find the remaining objects and run `orlop why` on them: an object with a finalizer keeps its namespace."],
  };
}

/** The APIServices in `Discovery failed for some groups, …: metrics.k8s.io/v1beta1: stale GroupVersion discovery: …`. */
function silentServices(remaining: readonly string[]): string[] {
  const failed = remaining.filter((message) => message.startsWith("Discovery failed")).join("\n");
  const groups = [...failed.matchAll(/([a-z0-9.-]{1,253})\/(v[a-z0-9]{1,60}): /g)];
  return [...new Set(groups.map(([, group, version]) => `${version}.${group}`))];
}

function undescribed(name: string, evidence: readonly string[], services: readonly string[]): Explanation {
  const [first = ""] = services;
  const one = services.length === 1;
  return {
    hop: undefined,
    state: "Terminating",
    headline: `Namespace ${name} cannot be removed because ${one ? "the server" : "servers"} behind the APIService${one ? "" : "s"} ${listed(services)} ${one ? "does" : "do"} not answer: nobody knows what it still contains.`,
    evidence,
    advice: [
      `See why: \`orlop why apiservice/${first}\`.`,
      `If the server is gone for good, delete the APIService: \`kubectl delete apiservice ${first}\`.`,
    ],
  };
}
