import type { Pod } from "#api/core/pod.ts";
import { podNameOf } from "#kubelet/host/host.ts";
import { currentTrace, type Trace } from "#trace/trace.ts";
import type { PodDeps } from "../pod-deps.ts";

export interface Removal {
  readonly pod: Pod;
  readonly trace: Trace | undefined;
  /** Resolves when the API has the final status, or refuses it. */
  statusWritten(): Promise<void>;
}

/** Writes the final status of a stopped pod to the API, and removes the object. */
export async function removePodObject({ host, pods }: PodDeps, removal: Removal): Promise<void> {
  const { pod, trace, statusWritten } = removal;
  await statusWritten();
  // Another node may want such a volume as soon as the pod is gone. Other cleanup can wait.
  if (hasLastingVolumes(pod)) await host.release(pod.metadata.uid);
  const remove = () => pods.remove(pod);
  await (trace ? currentTrace.run(trace, remove) : remove());
}

const hasLastingVolumes = ({ spec }: Pod): boolean =>
  (spec.volumes ?? []).some((volume) => volume.persistentVolumeClaim ?? volume.csi ?? volume.ephemeral ?? volume.nfs);

/** Removes what a pod left on the node. The logs go last, because a restarted kubelet finds the pod by them. */
export async function cleanUpPod(deps: PodDeps, pod: Pod, sandboxIds: readonly string[]): Promise<void> {
  const { host, runtime, puller, objects } = deps;
  const { uid } = pod.metadata;
  // Includes sandboxes whose creation was reported as failed: they may exist.
  const listed = (await runtime.listSandboxes()).filter((sandbox) => sandbox.pod.uid === uid);
  const ids = new Set([...sandboxIds, ...listed.map(({ id }) => id)]);
  await Promise.all(Array.from(ids, (id) => removeSandbox(deps, id)));
  await deps.claims?.unprepare(pod);
  await host.release(uid);
  await host.removeLogs(podNameOf(pod));
  puller.forgetPod(uid);
  objects.release(uid);
}

async function removeSandbox({ runtime }: PodDeps, id: string): Promise<void> {
  await runtime.stopSandbox(id);
  await runtime.removeSandbox(id);
}
