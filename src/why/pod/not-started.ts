import { type Explanation } from "../explanation.ts";
import { type PodFacts, type SeenEvent } from "../facts.ts";
import { ago, lasting, msOf } from "../times.ts";
import { describeEvent, isAbout, lastEvent, type PodPart, partName, partsOf, podName, waitingOf } from "./pod-parts.ts";

const errors = new Set([
  "CreateContainerConfigError",
  "CreateContainerError",
  "RunContainerError",
  "PostStartHookError",
]);

/** A container that could not be created or started: hop 11. */
export function explainStartErrors(facts: PodFacts): Explanation | undefined {
  const part = partsOf(facts.pod).find((each) => errors.has(waitingOf(each).reason));
  if (!part) return undefined;
  const { reason, message } = waitingOf(part);
  const { why, advice } = judge(part, { reason, message });
  const failed = lastEvent(facts, ["Failed"], isAbout(part));
  return {
    hop: "run",
    state: reason,
    headline: `Pod ${podName(facts.pod)} cannot start ${partName(part)}: ${why}.`,
    evidence: [
      ...(message ? [message] : []),
      ...missingLine(facts),
      ...(failed ? [describeEvent(failed, facts.nowMs)] : []),
    ],
    advice: [...advice, "The kubelet retries automatically."],
  };
}

function judge(
  { container }: PodPart,
  { reason, message }: { reason: string; message: string },
): { why: string; advice: string[] } {
  const absent = /(configmap|secret) "([^"]+)" not found/i.exec(message);
  if (absent) {
    const [, kind = "", name = ""] = absent;
    return {
      why: `the ${kind} ${name}, which its environment comes from, does not exist`,
      advice: [`Create the ${kind} ${name} in the pod's namespace, or mark the reference optional.`],
    };
  }
  const key = /couldn't find key (\S+) in (\S+) (\S+)/.exec(message);
  if (key) {
    const [, name = "", kind = "", place = ""] = key;
    return {
      why: `the ${kind} ${place} has no key ${name}`,
      advice: [`Add the key ${name} to the ${kind}, or correct the reference.`],
    };
  }
  if (/runAsNonRoot|non-root/i.test(message)) {
    return {
      why: "it must not run as root, but its image does",
      advice: ["Set securityContext.runAsUser to a number other than 0, or use an image that sets a user."],
    };
  }
  if (/executable file not found|no such file or directory|permission denied/i.test(message)) {
    const command = [...(container.command ?? []), ...(container.args ?? [])].join(" ");
    return {
      why: `its command ${command || "(the image's own)"} cannot be executed`,
      advice: ["Correct command and args: the first word must be an executable in the image."],
    };
  }
  if (reason === "PostStartHookError") {
    return {
      why: "its postStart hook fails",
      advice: ["Correct lifecycle.postStart: a container whose hook fails is killed."],
    };
  }
  return { why: message.split("\n")[0] || reason, advice: ["Correct the container's configuration."] };
}

const missingLine = ({ missing }: PodFacts): string[] => (missing.length > 0 ? [`missing: ${missing.join(", ")}`] : []);

/** ContainerCreating and PodInitializing: what the pod is waiting for. */
export function explainCreating(facts: PodFacts): Explanation | undefined {
  const { pod } = facts;
  const parts = partsOf(pod);
  const open = parts.find((part) => waitingOf(part).reason === "ContainerCreating" || !part.status);
  const running = parts.find(
    (part) => part.isInit && part.status?.state.running && part.container.restartPolicy !== "Always",
  );
  if (running) return initRunning(facts, running);
  if (!open && !parts.some((part) => waitingOf(part).reason === "PodInitializing")) return undefined;
  return (
    devicesMissing(facts) ??
    sandboxFailing(facts) ??
    volumesMissing(facts) ??
    pulling(facts) ??
    notPickedUp(facts) ??
    justStarting(facts)
  );
}

/** Whether the failure persists: no later event shows that the step has succeeded. */
const persists = ({ events }: PodFacts, event: SeenEvent, cures: readonly string[]): boolean =>
  !events.some(({ reason, lastMs }) => cures.includes(reason) && (lastMs ?? 0) > (event.lastMs ?? 0));

function devicesMissing(facts: PodFacts): Explanation | undefined {
  const event = lastEvent(facts, ["FailedPrepareDynamicResources"]);
  if (!event || !persists(facts, event, ["Pulling", "Pulled", "Created", "Started"])) return undefined;
  const driver = /DRA driver (\S+) is not registered/.exec(event.message)?.[1];
  const { nodeName = "" } = facts.pod.spec;
  const why = driver ? `the DRA driver ${driver} is not registered` : "the devices of its claims cannot be prepared";
  return {
    hop: "run",
    state: "ContainerCreating",
    headline: `Pod ${podName(facts.pod)} does not start because ${why} on node ${nodeName}.`,
    evidence: [describeEvent(event, facts.nowMs)],
    advice: [
      driver
        ? `Install or start the driver ${driver} on ${nodeName}. It is mostly a DaemonSet: see that its pod there runs.`
        : "The driver's error is above: see the log of its pod on that node.",
      "The kubelet retries automatically.",
    ],
  };
}

function sandboxFailing(facts: PodFacts): Explanation | undefined {
  const event = lastEvent(facts, ["FailedCreatePodSandBox"]);
  if (!event || !persists(facts, event, ["Pulling", "Pulled", "Created"])) return undefined;
  const isFull = /no (more )?(IP )?addresses|range set|no IP addresses available/i.test(event.message);
  const isNetwork = isFull || /cni|network|plugin/i.test(event.message);
  const runtimeClass = /RuntimeClass "([^"]+)"/.exec(event.message)?.[1];
  const why = runtimeClass
    ? `its RuntimeClass ${runtimeClass} is unknown`
    : isFull
      ? "the node has no address left for it"
      : isNetwork
        ? "its network could not be set up"
        : "its sandbox could not be created";
  return {
    hop: "run",
    state: "ContainerCreating",
    headline: `Pod ${podName(facts.pod)} does not start because ${why} on ${facts.pod.spec.nodeName}.`,
    evidence: [describeEvent(event, facts.nowMs)],
    advice: [
      runtimeClass
        ? `Remove spec.runtimeClassName ${runtimeClass} from the pod, or name one that the node has.`
        : isFull
          ? "Delete pods on the node, or give it a larger address range."
          : "Check the network plugins and their configuration on the node; the kubelet retries automatically.",
    ],
  };
}

function volumesMissing(facts: PodFacts): Explanation | undefined {
  const event = lastEvent(facts, ["FailedMount", "FailedAttachVolume"]);
  const [first] = facts.missing;
  if (!first && !(event && persists(facts, event, ["Created", "Started"]))) return undefined;
  const volume = /volume "([^"]+)"/.exec(event?.message ?? "")?.[1];
  const why = first
    ? `it refers to ${facts.missing.join(" and ")}, which ${facts.missing.length > 1 ? "do" : "does"} not exist`
    : `volume ${volume ?? ""} cannot be mounted`;
  return {
    hop: "run",
    state: "ContainerCreating",
    headline: `Pod ${podName(facts.pod)} does not start because ${why}.`,
    evidence: event ? [describeEvent(event, facts.nowMs)] : [`missing: ${facts.missing.join(", ")}`],
    advice: [
      first
        ? `Create ${facts.missing.join(" and ")} in namespace ${facts.pod.metadata.namespace}, or mark the reference optional.`
        : "Correct the volume; the node's error is above.",
      "The kubelet retries automatically.",
    ],
  };
}

function pulling(facts: PodFacts): Explanation | undefined {
  const event = lastEvent(facts, ["Pulling"]);
  if (!event || !persists(facts, event, ["Pulled", "Failed", "Created"])) return undefined;
  const image = /"([^"]+)"/.exec(event.message)?.[1] ?? "its image";
  return {
    hop: "run",
    state: "ContainerCreating",
    headline: `Pod ${podName(facts.pod)} is waiting for the image ${image}; the pull started ${ago(event.lastMs, facts.nowMs)}.`,
    evidence: [describeEvent(event, facts.nowMs)],
    advice: ["Large images take time to pull: a smaller image, or one already on the node, starts sooner."],
  };
}

/** The pod has a node, but the kubelet has not reported anything about it. */
function notPickedUp(facts: PodFacts): Explanation | undefined {
  const { pod, nowMs, heartbeatMs } = facts;
  if (pod.status.startTime) return undefined;
  const placedMs = msOf(pod.status.conditions?.find(({ type }) => type === "PodScheduled")?.lastTransitionTime);
  return {
    hop: "run",
    state: "Pending",
    headline: `Pod ${podName(pod)} was placed on ${pod.spec.nodeName} ${ago(placedMs, nowMs)}, but its kubelet has not picked it up.`,
    evidence: [
      heartbeatMs === undefined
        ? `node ${pod.spec.nodeName} has never sent a heartbeat`
        : `the node's last heartbeat was ${ago(heartbeatMs, nowMs)}`,
    ],
    advice: [`Check that the kubelet runs on ${pod.spec.nodeName}: \`orlop why node/${pod.spec.nodeName}\`.`],
  };
}

function justStarting(facts: PodFacts): Explanation {
  const last = facts.events.at(-1);
  return {
    hop: "run",
    state: "ContainerCreating",
    headline: `Pod ${podName(facts.pod)} is being started on ${facts.pod.spec.nodeName}; nothing has failed so far.`,
    evidence: [
      `the kubelet picked it up ${ago(msOf(facts.pod.status.startTime), facts.nowMs)}`,
      ...(last ? [describeEvent(last, facts.nowMs)] : []),
    ],
    advice: ["Ask again in a moment."],
  };
}

function initRunning({ pod, nowMs }: PodFacts, part: PodPart): Explanation {
  const since = msOf(part.status?.state.running?.startedAt);
  return {
    hop: "run",
    state: "PodInitializing",
    headline: `Pod ${podName(pod)} waits for its ${partName(part)}, which has been running ${lasting(since, nowMs)}.`,
    evidence: [`init containers run one after another, and the other containers wait for all of them`],
    advice: [
      `See what it does: \`kubectl logs ${podName(pod)} -c ${part.container.name} -n ${pod.metadata.namespace}\`.`,
    ],
  };
}
