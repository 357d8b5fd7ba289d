import { type Namespace } from "#api/core/namespace.ts";
import { isFinished } from "#api/core/pod/pod-state.ts";
import { humanDuration } from "#api/meta/age.ts";
import { type ApiObject } from "#api/resource.ts";
import { counted, type Explanation, listed } from "../explanation.ts";
import { type ObjectFacts, type PodFacts } from "../facts.ts";
import { ago, lasting, msOf } from "../times.ts";
import { lastEvent, partsOf, podName, tellEvent } from "./pod-parts.ts";

/** A pod that is being deleted and is still there. */
export function explainEndingPod(facts: PodFacts): Explanation | undefined {
  const { pod, nowMs, node } = facts;
  const { deletionTimestamp, deletionGracePeriodSeconds = 0, finalizers = [] } = pod.metadata;
  const goneByMs = msOf(deletionTimestamp);
  if (goneByMs === undefined) return undefined;
  const asked = `deletion was asked for ${ago(goneByMs - deletionGracePeriodSeconds * 1000, nowMs)}, with ${deletionGracePeriodSeconds}s to end`;
  if (finalizers.length > 0 && (isFinished(pod) || nowMs >= goneByMs)) return heldBy(`Pod ${podName(pod)}`, pod, asked);
  if (pod.spec.nodeName && (!node || isSilent(facts))) return lostNode(facts, asked);
  return nowMs < goneByMs ? inGrace(facts, { asked, goneByMs }) : overdue(facts, { asked, goneByMs });
}

const ending = { hop: undefined, state: "Terminating" } as const;

function lostNode({ pod, node, heartbeatMs, nowMs }: PodFacts, asked: string): Explanation {
  const { nodeName } = pod.spec;
  const why = node ? `has not been heard of ${lasting(heartbeatMs, nowMs)}` : "is gone";
  return {
    ...ending,
    headline: `Pod ${podName(pod)} cannot end because its node ${nodeName} ${why}.`,
    evidence: [asked, "only the node itself can say that the containers have ended"],
    advice: [
      "Bring the node back, or delete the Node object if it never comes back.",
      `If you are sure that nothing of it runs: \`kubectl delete pod ${podName(pod)} --force --grace-period=0 -n ${pod.metadata.namespace}\`.`,
    ],
  };
}

interface Asked {
  /** When deletion was asked for, and how. */
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
    headline: `Pod ${podName(pod)} is ending: its containers have ${humanDuration(goneByMs - nowMs)} left before they are killed.`,
    evidence: [
      asked,
      ...hooks.map((name) => `container ${name} has a preStop hook, which runs before SIGTERM is sent`),
      ...(hook ? [tellEvent(hook, nowMs)] : []),
    ],
    advice: [
      hooks.length > 0
        ? "The grace period begins with the preStop hook: make the hook shorter if it takes too long."
        : "A program that ends on SIGTERM is gone at once; one that ignores it takes the whole grace period.",
    ],
  };
}

function overdue({ pod, nowMs, events }: PodFacts, { asked, goneByMs }: Asked): Explanation {
  const { nodeName = "" } = pod.spec;
  return {
    ...ending,
    headline: `Pod ${podName(pod)} should have been gone ${ago(goneByMs, nowMs)}, and its node ${nodeName} has not finished with it.`,
    evidence: [asked, ...events.slice(-2).map((event) => tellEvent(event, nowMs))],
    advice: [
      `Look at the node: \`orlop why node/${nodeName}\`; a process that cannot be killed or a mount that hangs keeps it.`,
    ],
  };
}

const silentMs = 60_000;
const isSilent = ({ heartbeatMs, nowMs }: PodFacts): boolean =>
  heartbeatMs !== undefined && nowMs - heartbeatMs > silentMs;

function heldBy(name: string, { metadata }: ApiObject, asked: string): Explanation {
  const { finalizers = [] } = metadata;
  return {
    hop: undefined,
    state: "Terminating",
    headline: `${name} cannot go because ${counted(finalizers.length, "finalizer")} ${finalizers.length === 1 ? "holds" : "hold"} it: ${listed(finalizers)}.`,
    evidence: [asked, `metadata.finalizers: ${finalizers.join(", ")}`],
    advice: [
      "The controller that set a finalizer removes it when it has cleaned up: check that it runs.",
      "If it will never run again, remove the finalizer by hand; what it was to clean up stays behind.",
    ],
  };
}

/** Anything else that is being deleted. */
export function explainEndingObject({ object, resource, nowMs }: ObjectFacts): Explanation | undefined {
  const { deletionTimestamp, finalizers = [], name = "" } = object.metadata;
  if (!deletionTimestamp) return undefined;
  const asked = `deletion was asked for ${ago(msOf(deletionTimestamp), nowMs)}`;
  const title = `${resource.kind} ${name}`;
  if (resource.kind === "Namespace") {
    const remaining = remainingIn(object as Namespace);
    if (remaining.length > 0) return heldNamespace(name, asked, remaining);
  }
  if (finalizers.length > 0) return heldBy(title, object, asked);
  return {
    hop: undefined,
    state: "Terminating",
    headline: `${title} is being deleted and nothing is known to hold it.`,
    evidence: [asked],
    advice: ["Ask again in a moment."],
  };
}

const remainingIn = ({ status }: Namespace): string[] =>
  (status?.conditions ?? []).flatMap(({ status: value, message }) => (value === "True" && message ? [message] : []));

/** `configmaps. has 2 resource instances` and `example.com/hold in 2 resource instances`, as the conditions have it. */
function heldNamespace(name: string, asked: string, remaining: readonly string[]): Explanation {
  const text = remaining.join("\n");
  const kinds = [...text.matchAll(/([\w.-]+?)\.? has (\d+) resource instances/g)];
  const holders = [...text.matchAll(/(\S+) in \d+ resource instances/g)].map(([, finalizer = ""]) => finalizer);
  const left = listed(kinds.map(([, kind, count]) => `${count} of ${kind}`));
  const held = holders.length > 0 ? `, held by the finalizer ${listed(holders)}` : "";
  const [, kind = ""] = kinds[0] ?? [];
  return {
    hop: undefined,
    state: "Terminating",
    headline: `Namespace ${name} cannot go because something in it is left: ${left ? `${left}${held}.` : remaining[0]}`,
    evidence: [asked, ...remaining],
    advice: kind
      ? [
          `See them with \`kubectl get ${kind} -n ${name}\`, and ask \`orlop why ${kind}/NAME -n ${name}\` what holds one.`,
        ]
      : ["Find what is left and ask why about it: an object with a finalizer keeps its namespace."],
  };
}
