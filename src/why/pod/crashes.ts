import { isReady } from "#api/core/pod/pod-state.ts";
import { type ContainerStateTerminated } from "#api/core/pod/pod-status.ts";
import { counted, type Explanation } from "../explanation.ts";
import { type PodFacts } from "../facts.ts";
import { ago, ahead, msOf, parseDelay } from "../times.ts";
import {
  hasRestarted,
  isAbout,
  lastEvent,
  type PodPart,
  partName,
  partsOf,
  podName,
  tellEvent,
  waitingOf,
} from "./pod-parts.ts";

/** A container that keeps ending: hop 11. */
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
      `${tellEnd(facts, ended)}, restarted ${counted(restarts, "time")} so far`,
      ...(ended.message ? [`it left: ${ended.message.trim()}`] : []),
      ...more,
      ...lastLines(facts, part),
      ...nextTry(facts, part, ended),
    ],
    advice,
  };
}

/** Ready at this moment, after it has ended not long ago. */
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
    evidence: [tellEnd(facts, ended), ...more, ...lastLines(facts, part)],
    advice,
  };
}

const tellEnd = ({ nowMs }: PodFacts, ended: ContainerStateTerminated): string =>
  `ended ${ago(msOf(ended.finishedAt), nowMs)} with exit code ${ended.exitCode}${ended.reason ? ` (${ended.reason})` : ""}${tellLife(ended)}`;

function isCrashing(part: PodPart): boolean {
  const { state, lastState, restartCount } = part.status ?? {};
  if (waitingOf(part).reason === "CrashLoopBackOff") return true;
  // Between two attempts, or just started again after one that failed at once.
  return (
    Boolean(state?.terminated && state.terminated.exitCode !== 0) ||
    Boolean(lastState?.terminated && state?.waiting && (restartCount ?? 0) > 0)
  );
}

const tellLife = ({ startedAt, finishedAt }: ContainerStateTerminated): string => {
  const [from, to] = [msOf(startedAt), msOf(finishedAt)];
  // What could not be started has no time at which it was.
  return !from || to === undefined ? "" : `, it had run for ${Math.max(0, Math.round((to - from) / 1000))}s`;
};

interface Judgement {
  readonly why: string;
  readonly advice: readonly string[];
  readonly more: readonly string[];
}

type Judge = (facts: PodFacts, part: PodPart, ended: ContainerStateTerminated) => Judgement | undefined;

/** The first that knows. */
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
      more: ["no memory limit is set for it"],
      advice: ["Set a memory request so that the scheduler keeps room for it."],
    };
  }
  return {
    why: `uses more memory than its limit of ${limit} and is killed`,
    more: [`resources.limits.memory: ${limit}`],
    advice: [`Raise the memory limit above ${limit}, or make the program use less.`],
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
    more: [tellEvent(probe, facts.nowMs)],
    advice: [
      `Make the program answer the ${kind} probe, or give the probe more time: initialDelaySeconds, timeoutSeconds, failureThreshold.`,
    ],
  };
};

const badCommand: Judge = (_facts, { container }, { exitCode, reason = "" }) => {
  if (!["StartError", "ContainerCannotRun"].includes(reason) && exitCode !== 127 && exitCode !== 126) return undefined;
  const command = [...(container.command ?? []), ...(container.args ?? [])].join(" ");
  return {
    why: exitCode === 126 ? "has a command that cannot be executed" : "has a command that is not in the image",
    more: command ? [`command: ${command}`] : ["it uses the image's own command"],
    advice: ["Correct command and args: the first word must be a program in the image that can be executed."],
  };
};

const endedWell: Judge = ({ pod }, _part, { exitCode }) => {
  if (exitCode !== 0) return undefined;
  return {
    why: "ends without an error, and its restart policy starts it again",
    more: [`restartPolicy: ${pod.spec.restartPolicy}`],
    advice: [
      "A program in a Deployment has to keep running; use a Job, or restartPolicy OnFailure in a bare pod, for work that ends.",
    ],
  };
};

const failed = ({ pod }: PodFacts, { container }: PodPart, { exitCode }: ContainerStateTerminated): Judgement => ({
  why: `exits with ${exitCode}${meaning(exitCode)}`,
  more: [],
  advice: [
    "Read its last lines above; all of them: " +
      `\`kubectl logs ${podName(pod)} -c ${container.name} --previous -n ${pod.metadata.namespace}\`.`,
  ],
});

const signals: Readonly<Record<number, string>> = {
  6: "aborted",
  9: "killed",
  11: "a segmentation fault",
  15: "told to end",
};

function meaning(exitCode: number): string {
  if (exitCode <= 128) return "";
  const signal = exitCode - 128;
  return ` (signal ${signal}${signals[signal] ? `, ${signals[signal]}` : ""})`;
}

function lastLines({ logs }: PodFacts, { container }: PodPart): string[] {
  const lines = logs.get(container.name) ?? [];
  return lines.length > 0 ? ["its last lines:", ...lines.map((line) => `  ${line}`)] : ["it has written nothing"];
}

function nextTry({ nowMs, pod }: PodFacts, part: PodPart, ended: ContainerStateTerminated): string[] {
  const { reason, message } = waitingOf(part);
  if (pod.spec.restartPolicy === "Never") return ["it is not started again: restartPolicy is Never"];
  if (reason !== "CrashLoopBackOff") return ["it is being started again"];
  const delay = /back-off (\S+)/.exec(message)?.[1] ?? "";
  const finishedMs = msOf(ended.finishedAt);
  if (!delay || finishedMs === undefined) return [message];
  return [`started again ${delay} after it ended: next try ${ahead(finishedMs + parseDelay(delay), nowMs)}`];
}
