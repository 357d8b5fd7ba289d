import type { AnyContainer } from "#api/core/pod/pod-containers.ts";
import { Pod } from "#api/core/pod.ts";
import type { Service } from "#api/core/service.ts";
import { type EventRecorder, referenceTo } from "#client/events.ts";
import type { ReferencedObjects } from "#kubelet/config/referenced-objects.ts";
import type { PodHost } from "#kubelet/host/host.ts";
import type { ImagePuller } from "#kubelet/images/puller.ts";
import type { ClusterDns } from "#kubelet/network/pod-dns.ts";
import type { Rejection } from "#kubelet/node/admit.ts";
import type { Devices } from "#kubelet/node/admit-devices.ts";
import type { Placements } from "#kubelet/placement/placements.ts";
import type { ContainerRuntime } from "#kubelet/runtime/runtime.ts";
import type { VolumeSources } from "#kubelet/volumes/plugin.ts";
import type { Clock } from "#lib/async/clock.ts";
import type { Log } from "#lib/process/log.ts";
import type { TraceRecorder } from "#trace/recorder.ts";
import type { PodObjects } from "./pod-objects.ts";

/** What all pods of a node need. */
export interface PodDeps {
  readonly nodeName: string;
  /** Where the pods' objects are stored. */
  readonly pods: PodObjects;
  readonly clock: Clock;
  readonly log: Log;
  readonly recorder: TraceRecorder;
  readonly events: EventRecorder;
  readonly runtime: ContainerRuntime;
  /** `containerd`, for the ids of containers. */
  readonly runtimeName: string;
  readonly host: PodHost;
  readonly puller: ImagePuller;
  /** What device plugins offer; absent where there are none. */
  readonly devices: Devices | undefined;
  /** Processors and memory of their own; absent if pods share them all. */
  readonly placements?: Placements | undefined;
  /** Prepares claims for devices; absent where nodes are simulated. */
  readonly claims: PodClaims | undefined;
  readonly objects: Pick<ReferencedObjects, "configMap" | "secret" | "release">;
  readonly clusterDns: ClusterDns;
  readonly hostIps: readonly string[];
  readonly allocatable: Readonly<Record<string, string>>;
  /** The longest pause before a restart; 5 min by default. */
  readonly maxRestartMs?: number;
  /** Whether containers without a seccomp profile get that of the runtime. */
  readonly seccompDefault?: boolean;
  /** The services for the environment of pods in this namespace. */
  services(namespace: string): readonly Service[];
  /** The runtime handler of a RuntimeClass. */
  runtimeHandler(runtimeClass: string): Promise<string>;
  /** The sources of a pod's volumes. Objects that are read are watched from then on. */
  sourcesFor(podUid: string): VolumeSources;
  /** Why a running pod cannot be resized as requested, if it cannot. */
  admitResize(pod: Pod): Rejection | undefined;
  /** Assigns a new container to this pod, so that its events reach the pod's worker. */
  claimContainer(id: string, podUid: string): void;
  disclaimContainer(id: string): void;
}

/** What the drivers on this node do for pods with claims. */
export interface PodClaims {
  prepare(pod: Pod): Promise<void>;
  devicesOf(pod: Pod, container: AnyContainer): readonly string[];
  unprepare(pod: Pod): Promise<void>;
}

export type EventType = "Normal" | "Warning";

export function podEvent({ events }: PodDeps, pod: Pod, type: EventType, reason: string, message: string): void {
  events.event(referenceTo(Pod, pod), type, reason, message);
}

export interface ContainerEvent {
  readonly type: EventType;
  readonly reason: string;
  readonly message: string;
}

export function containerEvent({ events }: PodDeps, pod: Pod, container: string, event: ContainerEvent): void {
  const about = referenceTo(Pod, pod, fieldPathOf(pod, container));
  events.event(about, event.type, event.reason, event.message);
}

function fieldPathOf({ spec }: Pod, name: string): string {
  const isIn = (containers: readonly { name: string }[] = []) =>
    containers.some((container) => container.name === name);
  if (isIn(spec.initContainers)) return `spec.initContainers{${name}}`;
  return isIn(spec.ephemeralContainers) ? `spec.ephemeralContainers{${name}}` : `spec.containers{${name}}`;
}
