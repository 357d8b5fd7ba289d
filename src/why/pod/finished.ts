import { own } from "#lib/data/own.ts";
import { type Explanation } from "../explanation.ts";
import { type PodFacts } from "../facts.ts";
import { ago, msOf } from "../times.ts";
import { partName, partsOf, podName } from "./pod-parts.ts";

/** A pod that has ended and will not restart. */
export function explainFinished(facts: PodFacts): Explanation | undefined {
  const { pod, nowMs } = facts;
  const { phase, reason = "", message = "" } = pod.status;
  if (phase === "Succeeded") {
    return {
      hop: undefined,
      state: "Completed",
      headline: `Pod ${podName(pod)} has completed: all its containers exited successfully.`,
      evidence: endings(facts),
      advice: [],
    };
  }
  if (phase !== "Failed") return undefined;
  const failed = partsOf(pod).find(({ status }) => (status?.state.terminated?.exitCode ?? 0) !== 0);
  const code = failed?.status?.state.terminated;
  const why = reason
    ? `${own(known, reason) ?? reason}${message ? `: ${withoutStop(message)}` : ""}`
    : failed
      ? `${partName(failed)} exited with code ${code?.exitCode}${code?.reason ? ` (${code.reason})` : ""} ${ago(msOf(code?.finishedAt), nowMs)}`
      : "one of its containers failed";
  const lines = failed ? (facts.logs.get(failed.container.name) ?? []) : [];
  return {
    hop: "run",
    state: reason || "Failed",
    headline: `Pod ${podName(pod)} has failed for good because ${why}.`,
    evidence: [
      ...endings(facts),
      ...(lines.length > 0 ? ["its last log lines:", ...lines.map((line) => `  ${line}`)] : []),
      reason === "DeadlineExceeded"
        ? `spec.activeDeadlineSeconds: ${pod.spec.activeDeadlineSeconds}`
        : `restartPolicy: ${pod.spec.restartPolicy}`,
    ],
    advice: ["A failed pod is not restarted: its owner, or you, must create a new one."],
  };
}

/** The sentence that quotes the message ends with its own full stop. */
const withoutStop = (message: string): string => message.trimEnd().replace(/\.$/, "");

const known: Readonly<Record<string, string>> = {
  Evicted: "it was evicted",
  DeadlineExceeded: "it ran longer than activeDeadlineSeconds",
  NodeLost: "its node was lost",
  NodeAffinity: "its node no longer matches its affinity",
  OutOfcpu: "the node did not have enough CPU for it",
  OutOfmemory: "the node did not have enough memory for it",
  UnexpectedAdmissionError: "the node could not give it the devices that it requests",
  OutOfpods: "the node had reached its limit of pods",
};

const endings = ({ pod, nowMs }: PodFacts): string[] =>
  partsOf(pod).flatMap((part) => {
    const ended = part.status?.state.terminated;
    return ended
      ? [
          `${partName(part)} exited ${ago(msOf(ended.finishedAt), nowMs)} with code ${ended.exitCode}${ended.reason ? ` (${ended.reason})` : ""}`,
        ]
      : [];
  });
