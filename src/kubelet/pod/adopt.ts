import { labels } from "#kubelet/config/runtime-labels.ts";
import type { Container, ContainerRuntime, PodIdentity, Sandbox } from "#kubelet/runtime/runtime.ts";
import type { Log } from "#lib/process/log.ts";
import { isGrpcError } from "#lib/proto/grpc/status.ts";
import type { FoundPod } from "./plan/pod-records.ts";
import { type ContainerRecord, recordOf, sandboxRecord } from "./plan/pod-state.ts";

/** Everything that the runtime has, by the uid of the pod. */
export interface Listing {
  readonly pods: ReadonlyMap<string, ListedPod>;
  readonly containers: ReadonlyMap<string, Container>;
  readonly readySandboxes: ReadonlySet<string>;
}
export interface ListedPod {
  readonly identity: PodIdentity;
  readonly sandboxes: readonly Sandbox[];
  readonly containers: readonly Container[];
}

export async function listRuntime(runtime: ContainerRuntime, signal?: AbortSignal): Promise<Listing> {
  const [sandboxes, containers] = await Promise.all([runtime.listSandboxes(signal), runtime.listContainers(signal)]);
  const uidOf = new Map(sandboxes.map(({ id, pod }) => [id, pod.uid]));
  const byPod = Map.groupBy(containers, (one) => one.labels[labels.podUid] ?? uidOf.get(one.sandboxId) ?? "");
  const pods = new Map<string, ListedPod>();
  for (const [uid, own] of Map.groupBy(sandboxes, ({ pod }) => pod.uid)) {
    const [first] = own;
    if (first) pods.set(uid, { identity: first.pod, sandboxes: own, containers: byPod.get(uid) ?? [] });
  }
  return {
    pods,
    containers: new Map(containers.map((container) => [container.id, container])),
    readySandboxes: new Set(sandboxes.filter(({ state }) => state === "ready").map(({ id }) => id)),
  };
}

export interface AdoptDeps {
  readonly runtime: ContainerRuntime;
  readonly log: Log;
}

/** What an earlier kubelet left running of a pod, with nothing counted twice. */
export async function adoptPod({ runtime, log }: AdoptDeps, listed: ListedPod): Promise<FoundPod> {
  const removeAll = (containers: readonly { readonly id: string }[]) =>
    Promise.all(containers.map(({ id }) => removeOrLeave({ runtime, log }, id)));
  const [newest, ...older] = listed.sandboxes.toSorted((a, b) => b.attempt - a.attempt || b.createdAt - a.createdAt);
  const status = newest && (await runtime.sandboxStatus(newest.id));
  // A container that was created but not started is removed; it will be created again under the same number.
  const unborn = listed.containers.filter(({ state }) => state === "created");
  await removeAll(unborn);
  const born = listed.containers.filter(({ state }) => state !== "created");
  const found = await Promise.all(
    born.map(async (container) => recordOf(container, await runtime.containerStatus(container.id))),
  );
  // The same for one whose start was interrupted when the earlier kubelet died: it has not run, so it has not failed.
  const [cutOff, records] = [found.filter(wasCutOff), found.filter((record) => !wasCutOff(record))];
  await removeAll(cutOff);
  return {
    sandbox: newest && sandboxRecord(status ?? newest, status?.ips ?? []),
    oldSandboxes: older.map(({ id }) => id),
    containers: records.toSorted((a, b) => b.restartCount - a.restartCount || b.createdAt - a.createdAt),
  };
}

/** A container that cannot be removed is in the way of its own pod only, which tries again when it ends. */
async function removeOrLeave({ runtime, log }: AdoptDeps, id: string): Promise<void> {
  try {
    await runtime.removeContainer(id);
  } catch (error) {
    log.warn("could not remove a container whose start was interrupted", { container: id, error });
  }
}

const wasCutOff = ({ state, reason, message }: ContainerRecord): boolean =>
  state === "exited" && reason === "StartError" && /context canceled|error reading from server: EOF/.test(message);

/** Stops what belongs to no pod, with the grace period that the pod had. The signal abandons it at any point. */
export async function endOrphan(runtime: ContainerRuntime, listed: ListedPod, signal: AbortSignal): Promise<void> {
  const seconds = Number(listed.sandboxes[0]?.annotations[labels.gracePeriod] ?? 0);
  const running = listed.containers.filter(({ state }) => state === "running");
  await Promise.all(running.map(({ id }) => runtime.stopContainer(id, Math.max(2, seconds) * 1000, signal)));
  for (const { id } of listed.sandboxes) {
    try {
      await runtime.stopSandbox(id, signal);
      await runtime.removeSandbox(id, signal);
    } catch (error) {
      if (!isGrpcError(error, "NOT_FOUND")) throw error;
    }
  }
}
