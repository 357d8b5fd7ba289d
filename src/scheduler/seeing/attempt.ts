import { type TraceRecorder } from "#trace/recorder.ts";
import { type Rejections } from "../explain.ts";
import { type QueuedPod } from "../framework.ts";
import { type Lane } from "../lanes.ts";

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
