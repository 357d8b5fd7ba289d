import type { Pod } from "#api/core/pod.ts";
import { currentTrace, type Trace } from "#trace/trace.ts";
import { podNameOf } from "./host.ts";
import type { PodDeps } from "./pod-deps.ts";

export interface Removal {
  readonly pod: Pod;
  /** The API has it no more already. */
  readonly isGone: boolean;
  readonly sandboxIds: readonly string[];
  readonly trace: Trace | undefined;
  /** Resolves when the API shows how the pod ended. */
  statusWritten(): Promise<void>;
}

/** For a pod of which nothing runs any more: tells the API so, and takes away what it left on the node. */
export async function removePod(deps: PodDeps, removal: Removal): Promise<void> {
  const { host, runtime, puller, objects } = deps;
  const { pod, isGone, sandboxIds } = removal;
  const uid = pod.metadata.uid ?? "";
  if (!isGone) await removal.statusWritten();
  // Another node may want such a volume as soon as the pod is gone; nobody waits for the rest.
  if (hasLastingVolumes(pod)) await host.release(uid);
  if (!isGone) await deleteObject(deps, removal);
  // Also those that we were told could not be made.
  const listed = (await runtime.listSandboxes()).filter((sandbox) => sandbox.pod.uid === uid);
  const ids = new Set([...sandboxIds, ...listed.map(({ id }) => id)]);
  await Promise.all(Array.from(ids, (id) => removeSandbox(deps, id)));
  await host.release(uid);
  await host.removeLogs(podNameOf(pod));
  puller.forgetPod(uid);
  objects.release(uid);
}

async function removeSandbox({ runtime }: PodDeps, id: string): Promise<void> {
  await runtime.stopSandbox(id);
  await runtime.removeSandbox(id);
}

const hasLastingVolumes = ({ spec }: Pod): boolean =>
  (spec.volumes ?? []).some((volume) => volume.persistentVolumeClaim ?? volume.csi ?? volume.ephemeral ?? volume.nfs);

async function deleteObject({ pods }: PodDeps, { pod, trace }: Removal): Promise<void> {
  const remove = () => pods.remove(pod);
  await (trace ? currentTrace.run(trace, remove) : remove());
}
