import { type TraceRecorder } from "#trace/recorder.ts";
import { type Rejections } from "../explain.ts";
import { type QueuedPod } from "../framework.ts";
import { type Lane } from "../lanes.ts";
import { type Outcome } from "../preemption/preemptor.ts";
import { type Attempt as Verdict } from "./verdicts.ts";

/** One attempt to place a pod. */
export interface Attempt {
  readonly queued: QueuedPod;
  readonly lane: Lane;
  readonly span: ReturnType<TraceRecorder["startSpan"]>;
}

/** How many nodes are shown with their scores, and for how many pods in a second. */
export const shownNodes = 3;
export const shownPods = 5;

export const noRejections: Rejections = new Map();
export const gone = { facts: { node: "", message: "gone", evaluated: 0 } };

/** What became of the attempt to make room for a pod, if there was one. */
export const roomOf = (outcome: Outcome | undefined): Pick<Verdict, "victims" | "keepsNomination"> => ({
  victims: outcome?.victims.map(({ pod: { metadata } }) => `${metadata.namespace}/${metadata.name}`),
  keepsNomination: outcome?.nominate === undefined,
});
