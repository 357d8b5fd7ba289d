import type { PodStatus } from "#api/core/pod/pod-status.ts";
import { Pod } from "#api/core/pod.ts";
import type { InputOf } from "#api/resource.ts";
import { isConflict, isNotFound } from "#api/status.ts";
import type { Client } from "#client/client.ts";

/** Where the objects of pods are stored: in the API, or in files of the node. */
export interface PodObjects {
  /** Resolves with the updated pod; rejects if somebody else has changed it. */
  writeStatus(pod: Pod, status: PodStatus, signal: AbortSignal): Promise<Pod>;
  read(pod: Pod, signal: AbortSignal): Promise<Pod>;
  /** Removes exactly this pod, of which nothing runs any more. */
  remove(pod: Pod): Promise<void>;
}

export const apiPods = (client: Client): PodObjects => ({
  writeStatus: (pod, status, signal) => client.updateStatus(Pod, statusBody(pod, status), { signal, fieldManager }),
  read: (pod, signal) => client.get(Pod, pod, { signal }),
  async remove(pod) {
    try {
      const preconditions = { uid: pod.metadata.uid };
      await client.delete(Pod, pod, { gracePeriodSeconds: 0, preconditions });
    } catch (error) {
      if (isNotFound(error)) return;
      if (isConflict(error) && (await hasAnotherUid(client, pod))) return;
      throw error;
    }
  },
});

export const fieldManager = "kubelet";

/** The server keeps the spec and the managed fields, which are most of a pod, so they need not be copied and read again. */
function statusBody(pod: Pod, status: PodStatus): InputOf<Pod> {
  const { managedFields: _, ...metadata } = pod.metadata;
  return { metadata, spec: { containers: [] }, status };
}

/** Whether another pod has this name by now. */
async function hasAnotherUid(client: Client, pod: Pod): Promise<boolean> {
  try {
    return (await client.get(Pod, pod)).metadata.uid !== pod.metadata.uid;
  } catch (error) {
    if (isNotFound(error)) return true;
    throw error;
  }
}
