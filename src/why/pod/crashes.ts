import { isReady } from "#api/core/pod/pod-state.ts";
import { type ContainerStateTerminated } from "#api/core/pod/pod-status.ts";
import { counted, type Explanation } from "../explanation.ts";
import { type PodFacts } from "../facts.ts";
import { ago, ahead, msOf, parseDelay } from "../times.ts";
import {
  describeEvent,
  hasRestarted,
  isAbout,
  lastEvent,
  type PodPart,
  partName,
  partsOf,
  podName,
  waitingOf,
} from "./pod-parts.ts";

/** A container that keeps exiting: hop 11. */
export function explainCrashes(facts: PodFacts): Explanation | undefined {
  const part = partsOf(facts.pod).find(isCrashing);
  const ended = part && (part.status?.lastState.terminated ?? part.status?.state.terminated);
  if (!part || !ended) return undefined;
  const restarts = part.status?.restartCount ?? 0;
  const { why, advice, more } = judge(facts, part, ended);
  return {
    hop: "run",
    state: waitingOf(part).reason || "Error",
    headline: `Pod ${podName(facts.pod)} keeps failing because ${partName(part)} ${why}.`,
    evidence: [
      `${describeEnd(facts, ended)}; restarted ${counted(restarts, "time")} so far`,
      ...(ended.message ? [`termination message: ${ended.message.trim()}`] : []),
      ...more,
      ...lastLines(facts, part),
      ...nextTry(facts, part, ended),
    ],
    advice,
  };
}

/** Ready now, but restarted recently. */
export function explainRestarts(facts: PodFacts): Explanation | undefined {
  const part = partsOf(facts.pod).find((each) => hasRestarted(each, facts.nowMs));
  const ended = part?.status?.lastState.terminated;
  if (!part || !ended || !isReady(facts.pod)) return undefined;
  const { why, advice, more } = judge(facts, part, ended);
  const times = part.status?.restartCount === 1 ? "once" : `${part.status?.restartCount} times`;
  return {
    hop: "run",
    state: "Ready",
    headline: `Pod ${podName(facts.pod)} is ready now, but ${partName(part)} was restarted ${times}: it ${why}.`,
    evidence: [describeEnd(facts, ended), ...more, ...lastLines(facts, part)],
    advice,
  };
}

const describeEnd = ({ nowMs }: PodFacts, ended: ContainerStateTerminated): string =>
  `exited ${ago(msOf(ended.finishedAt), nowMs)} with code ${ended.exitCode}${ended.reason ? ` (${ended.reason})` : ""}${describeLife(ended)}`;

function isCrashing(part: PodPart): boolean {
  const { state, lastState, restartCount } = part.status ?? {};
  if (waitingOf(part).reason === "CrashLoopBackOff") return true;
  // Between two attempts, or just restarted after one that failed immediately.
  return (
    Boolean(state?.terminated && state.terminated.exitCode !== 0) ||
    Boolean(lastState?.terminated && state?.waiting && (restartCount ?? 0) > 0)
  );
}

const describeLife = ({ startedAt, finishedAt }: ContainerStateTerminated): string => {
  const [from, to] = [msOf(startedAt), msOf(finishedAt)];
  // A container that could not be started has no start time.
  return !from || to === undefined ? "" : ` after running for ${Math.max(0, Math.round((to - from) / 1000))}s`;
};

interface Judgement {
  readonly why: string;
  readonly advice: readonly string[];
  readonly more: readonly string[];
}

type Judge = (facts: PodFacts, part: PodPart, ended: ContainerStateTerminated) => Judgement | undefined;

/** The first judge that recognises the case decides. */
const judge = (facts: PodFacts, part: PodPart, ended: ContainerStateTerminated): Judgement =>
  outOfMemory(facts, part, ended) ??
  failedProbe(facts, part, ended) ??
  badCommand(facts, part, ended) ??
  endedWell(facts, part, ended) ??
  failed(facts, part, ended);

const outOfMemory: Judge = (_facts, { container }, { reason }) => {
  if (reason !== "OOMKilled") return undefined;
  const limit = container.resources.limits?.memory;
  if (!limit) {
    return {
      why: "is killed because the node ran out of memory",
      more: ["it has no memory limit"],
      advice: ["Set a memory request, so that the scheduler reserves memory for it."],
    };
  }
  return {
    why: `uses more memory than its limit of ${limit} and is killed`,
    more: [`resources.limits.memory: ${limit}`],
    advice: [`Raise the memory limit above ${limit}, or make the program use less memory.`],
  };
};

const failedProbe: Judge = (facts, part, { exitCode }) => {
  const find = (reason: string, text: RegExp) =>
    lastEvent(facts, [reason], (event) => isAbout(part)(event) && text.test(event.message));
  const probe = find("Unhealthy", /^(Liveness|Startup) probe/);
  const killed = find("Killing", /failed (liveness|startup) probe/);
  if (!probe || !killed || ![137, 143, 0].includes(exitCode)) return undefined;
  const kind = probe.message.startsWith("Liveness") ? "liveness" : "startup";
  return {
    why: `fails its ${kind} probe and is killed`,
    more: [describeEvent(probe, facts.nowMs)],
    advice: [
      `Make the program answer the ${kind} probe, or raise the probe's initialDelaySeconds, timeoutSeconds or failureThreshold.`,
    ],
  };
};

const badCommand: Judge = (_facts, { container }, { exitCode, reason = "" }) => {
  if (!["StartError", "ContainerCannotRun"].includes(reason) && exitCode !== 127 && exitCode !== 126) return undefined;
  const command = [...(container.command ?? []), ...(container.args ?? [])].join(" ");
  return {
    why: exitCode === 126 ? "has a command that cannot be executed" : "has a command that is not in the image",
    more: command ? [`command: ${command}`] : ["it uses the image's own command"],
    advice: ["Correct command and args: the first word must be an executable in the image."],
  };
};

const endedWell: Judge = ({ pod }, _part, { exitCode }) => {
  if (exitCode !== 0) return undefined;
  return {
    why: "exits without an error, and its restart policy restarts it",
    more: [`restartPolicy: ${pod.spec.restartPolicy}`],
    advice: [
      "A program in a Deployment has to keep running. For work that ends, use a Job, or a pod with restartPolicy OnFailure.",
    ],
  };
};

const failed = (facts: PodFacts, part: PodPart, { exitCode }: ContainerStateTerminated): Judgement => ({
  why: `exits with code ${exitCode}${meaning(exitCode)}`,
  more: [],
  advice: [logsOf(facts, part).length > 0 ? readLog(facts, part) : tryOut(facts, part)],
});

const readLog = ({ pod }: PodFacts, { container }: PodPart): string =>
  `Read its last log lines above, or the whole log: \`kubectl logs ${podName(pod)} -c ${container.name} --previous -n ${pod.metadata.namespace}\`.`;

const tryOut = ({ pod }: PodFacts, { container }: PodPart): string =>
  `It does not log why. Run its program by hand, in a copy of the pod: \`kubectl debug ${podName(pod)} -n ${pod.metadata.namespace} -it --copy-to=${podName(pod)}-debug --container=${container.name} -- sh\`.`;

const signals: Readonly<Record<number, string>> = {
  6: "aborted",
  9: "killed",
  11: "a segmentation fault",
  15: "asked to terminate",
};

function meaning(exitCode: number): string {
  if (exitCode <= 128) return "";
  const signal = exitCode - 128;
  return ` (signal ${signal}${signals[signal] ? `, ${signals[signal]}` : ""})`;
}

const logsOf = ({ logs }: PodFacts, { container }: PodPart): readonly string[] => logs.get(container.name) ?? [];

function lastLines(facts: PodFacts, part: PodPart): string[] {
  const lines = logsOf(facts, part);
  return lines.length > 0 ? ["its last log lines:", ...lines.map((line) => `  ${line}`)] : ["its log is empty"];
}

function nextTry({ nowMs, pod }: PodFacts, part: PodPart, ended: ContainerStateTerminated): string[] {
  const { reason, message } = waitingOf(part);
  if (pod.spec.restartPolicy === "Never") return ["it is not restarted: restartPolicy is Never"];
  if (reason !== "CrashLoopBackOff") return ["it is being restarted"];
  const delay = /back-off (\S+)/.exec(message)?.[1] ?? "";
  const finishedMs = msOf(ended.finishedAt);
  if (!delay || finishedMs === undefined) return [message];
  return [`back-off of ${delay}: next restart ${ahead(finishedMs + parseDelay(delay), nowMs)}`];
}
