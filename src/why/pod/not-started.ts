import { type Explanation } from "../explanation.ts";
import { type PodFacts, type SeenEvent } from "../facts.ts";
import { ago, lasting, msOf } from "../times.ts";
import { isAbout, lastEvent, type PodPart, partName, partsOf, podName, tellEvent, waitingOf } from "./pod-parts.ts";

const errors = new Set([
  "CreateContainerConfigError",
  "CreateContainerError",
  "RunContainerError",
  "PostStartHookError",
]);

/** A container that could not be made or started: hop 11. */
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
      ...(failed ? [tellEvent(failed, facts.nowMs)] : []),
    ],
    advice: [...advice, "It is tried again by itself."],
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
      why: `the ${kind} ${name} that its variables come from does not exist`,
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
      why: "it must not run as root, and its image would",
      advice: ["Set securityContext.runAsUser to a number other than 0, or use an image with a user."],
    };
  }
  if (/executable file not found|no such file or directory|permission denied/i.test(message)) {
    const command = [...(container.command ?? []), ...(container.args ?? [])].join(" ");
    return {
      why: `its command ${command || "(the image's own)"} cannot be executed`,
      advice: ["Correct command and args: the first word must be a program in the image that can be executed."],
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

const missingLine = ({ missing }: PodFacts): string[] =>
  missing.length > 0 ? [`not there: ${missing.join(", ")}`] : [];

/** ContainerCreating and PodInitializing: what is being waited for. */
export function explainCreating(facts: PodFacts): Explanation | undefined {
  const { pod } = facts;
  const parts = partsOf(pod);
  const open = parts.find((part) => waitingOf(part).reason === "ContainerCreating" || !part.status);
  const running = parts.find(
    (part) => part.isInit && part.status?.state.running && part.container.restartPolicy !== "Always",
  );
  if (running) return initRunning(facts, running);
  if (!open && !parts.some((part) => waitingOf(part).reason === "PodInitializing")) return undefined;
  return sandboxFailing(facts) ?? volumesMissing(facts) ?? pulling(facts) ?? notTakenUp(facts) ?? justStarting(facts);
}

/** A later event shows that what failed has worked since. */
const isStill = ({ events }: PodFacts, event: SeenEvent, cures: readonly string[]): boolean =>
  !events.some(({ reason, lastMs }) => cures.includes(reason) && (lastMs ?? 0) > (event.lastMs ?? 0));

function sandboxFailing(facts: PodFacts): Explanation | undefined {
  const event = lastEvent(facts, ["FailedCreatePodSandBox"]);
  if (!event || !isStill(facts, event, ["Pulling", "Pulled", "Created"])) return undefined;
  const isFull = /no (more )?(IP )?addresses|range set|no IP addresses available/i.test(event.message);
  const isNetwork = isFull || /cni|network|plugin/i.test(event.message);
  const runtimeClass = /RuntimeClass "([^"]+)"/.exec(event.message)?.[1];
  const why = runtimeClass
    ? `its RuntimeClass ${runtimeClass} is not known`
    : isFull
      ? "the node has no address left for it"
      : isNetwork
        ? "its network could not be set up"
        : "its sandbox could not be made";
  return {
    hop: "run",
    state: "ContainerCreating",
    headline: `Pod ${podName(facts.pod)} does not start because ${why} on ${facts.pod.spec.nodeName}.`,
    evidence: [tellEvent(event, facts.nowMs)],
    advice: [
      runtimeClass
        ? `Take spec.runtimeClassName ${runtimeClass} out of the pod, or name one that the node has.`
        : isFull
          ? "Delete pods on the node, or give it a larger range of addresses."
          : "Check the network plugins and their configuration on the node; it is tried again by itself.",
    ],
  };
}

function volumesMissing(facts: PodFacts): Explanation | undefined {
  const event = lastEvent(facts, ["FailedMount", "FailedAttachVolume"]);
  const [first] = facts.missing;
  if (!first && !(event && isStill(facts, event, ["Created", "Started"]))) return undefined;
  const volume = /volume "([^"]+)"/.exec(event?.message ?? "")?.[1];
  const why = first
    ? `${facts.missing.join(" and ")} that it refers to ${facts.missing.length > 1 ? "do" : "does"} not exist`
    : `volume ${volume ?? ""} cannot be mounted`;
  return {
    hop: "run",
    state: "ContainerCreating",
    headline: `Pod ${podName(facts.pod)} does not start because ${why}.`,
    evidence: event ? [tellEvent(event, facts.nowMs)] : [`not there: ${facts.missing.join(", ")}`],
    advice: [
      first
        ? `Create ${facts.missing.join(" and ")} in namespace ${facts.pod.metadata.namespace}, or mark the reference optional.`
        : "Correct the volume; the node's answer is above.",
      "It is tried again by itself.",
    ],
  };
}

function pulling(facts: PodFacts): Explanation | undefined {
  const event = lastEvent(facts, ["Pulling"]);
  if (!event || !isStill(facts, event, ["Pulled", "Failed", "Created"])) return undefined;
  const image = /"([^"]+)"/.exec(event.message)?.[1] ?? "its image";
  return {
    hop: "run",
    state: "ContainerCreating",
    headline: `Pod ${podName(facts.pod)} is waiting for the image ${image}, whose pull began ${ago(event.lastMs, facts.nowMs)}.`,
    evidence: [tellEvent(event, facts.nowMs)],
    advice: ["Large images take their time: a smaller image, or one already on the node, starts at once."],
  };
}

/** Placed, and the node has not said a word. */
function notTakenUp(facts: PodFacts): Explanation | undefined {
  const { pod, nowMs, heartbeatMs } = facts;
  if (pod.status.startTime) return undefined;
  const placedMs = msOf(pod.status.conditions?.find(({ type }) => type === "PodScheduled")?.lastTransitionTime);
  return {
    hop: "run",
    state: "Pending",
    headline: `Pod ${podName(pod)} was placed on ${pod.spec.nodeName} ${ago(placedMs, nowMs)}, and the node has not taken it up.`,
    evidence: [
      heartbeatMs === undefined
        ? `node ${pod.spec.nodeName} has never sent a heartbeat`
        : `the node's last heartbeat was ${ago(heartbeatMs, nowMs)}`,
    ],
    advice: [`Check that the agent runs on ${pod.spec.nodeName}: \`orlop why node/${pod.spec.nodeName}\`.`],
  };
}

function justStarting(facts: PodFacts): Explanation {
  const last = facts.events.at(-1);
  return {
    hop: "run",
    state: "ContainerCreating",
    headline: `Pod ${podName(facts.pod)} is being started on ${facts.pod.spec.nodeName}; nothing has failed so far.`,
    evidence: [
      `the node took it up ${ago(msOf(facts.pod.status.startTime), facts.nowMs)}`,
      ...(last ? [tellEvent(last, facts.nowMs)] : []),
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
    evidence: [`init containers run one after the other, and the others wait for all of them`],
    advice: [
      `See what it does: \`kubectl logs ${podName(pod)} -c ${part.container.name} -n ${pod.metadata.namespace}\`.`,
    ],
  };
}
