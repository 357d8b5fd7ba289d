import { Node } from "#api/core/node.ts";
import type { EventRecorder } from "#client/events.ts";
import { aborted } from "#lib/async/tasks.ts";
import type { Informers } from "#runtime/informer.ts";

export interface SchedulableDeps {
  readonly nodeName: string;
  readonly informers: Informers;
  readonly events: EventRecorder;
}

/** Tells when the node is cordoned and when it is no longer, until the signal. */
export async function runSchedulableEvents(deps: SchedulableDeps, signal: AbortSignal): Promise<void> {
  const { nodeName, informers, events } = deps;
  const about = { kind: "Node", name: nodeName, uid: nodeName };
  let was = false;
  const own = informers.of(Node, { fieldSelector: `metadata.name=${nodeName}` });
  const unsubscribe = own.subscribe(({ type, object }) => {
    const is = type === "put" && object.spec.unschedulable === true;
    if (is === was) return;
    was = is;
    if (type === "delete") return;
    const reason = is ? "NodeNotSchedulable" : "NodeSchedulable";
    events.event(about, "Normal", reason, `Node ${nodeName} status is now: ${reason}`);
  });
  await aborted(signal);
  unsubscribe();
}
