import { isFinished, isReady } from "#api/core/pod/pod-state.ts";
import { type Pod } from "#api/core/pod.ts";
import { type Selections } from "#controllers/shared/selections.ts";
import { equal } from "#lib/data/equal.ts";
import { type Wake } from "#runtime/reconciler.ts";

/** Wakes the services that select a pod now or did before, if something changed that endpoints contain. */
export const followPods = (selections: Selections, wake: (ref: Wake, trace?: string) => void): (() => void) =>
  selections.follow((change) => {
    const { namespace, labels } = change.object.metadata;
    const previous = change.type === "put" ? change.previous : undefined;
    if (previous && !isVisible(previous, change.object)) return;
    for (const service of selections.servicesFor(namespace, labels)) wake(service, change.trace);
    if (!previous || equal(previous.metadata.labels, labels)) return;
    for (const service of selections.servicesFor(namespace, previous.metadata.labels)) wake(service, change.trace);
  });

function isVisible(before: Pod, after: Pod): boolean {
  return (
    Boolean(before.metadata.deletionTimestamp) !== Boolean(after.metadata.deletionTimestamp) ||
    isReady(before) !== isReady(after) ||
    isFinished(before) !== isFinished(after) ||
    before.status.podIP !== after.status.podIP ||
    before.spec.nodeName !== after.spec.nodeName ||
    before.metadata.uid !== after.metadata.uid ||
    !equal(before.status.podIPs, after.status.podIPs) ||
    !equal(before.metadata.labels, after.metadata.labels)
  );
}
