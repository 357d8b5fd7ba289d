import type { Container, ResourceRequirements } from "#api/core/container/container.ts";
import type { AnyContainer } from "#api/core/pod/pod-containers.ts";
import type { Pod } from "#api/core/pod.ts";
import { quantityMilliValue, quantityValue } from "#api/meta/quantity.ts";
import type { Rejection } from "#kubelet/node/admit.ts";

type Resources = Pick<ResourceRequirements, "requests" | "limits">;

/** The resources of a container that can change while it runs, as numbers. */
function amountsOf({ requests = {}, limits = {} }: Resources) {
  const milli = (text = "0") => quantityMilliValue(text);
  const bytes = (text = "0") => quantityValue(text);
  return { cpu: [milli(requests.cpu), milli(limits.cpu)], memory: [bytes(requests.memory), bytes(limits.memory)] };
}

const isEmpty = ({ requests, limits }: Resources): boolean => requests === undefined && limits === undefined;

const isSame = (a: readonly number[], b: readonly number[]): boolean => a.every((amount, at) => amount === b[at]);

/** What it takes to give a running container its wanted resources. */
export function resizeNeed(container: AnyContainer, applied: Resources | undefined): "none" | "update" | "restart" {
  if (!applied || (isEmpty(container.resources) && isEmpty(applied))) return "none";
  const [wanted, has] = [amountsOf(container.resources), amountsOf(applied)];
  const changed = (["cpu", "memory"] as const).filter((name) => !isSame(wanted[name], has[name]));
  if (changed.length === 0) return "none";
  const policies = container.resizePolicy ?? [];
  const restarts = policies.some(
    ({ resourceName, restartPolicy }) =>
      restartPolicy === "RestartContainer" && changed.some((name) => name === resourceName),
  );
  return restarts ? "restart" : "update";
}

/** The state of a resize, as the pod's conditions show it. */
export interface ResizeState {
  /** Not granted yet, or never. */
  readonly pending?: Rejection & { readonly generation: number };
  /** Granted, and being applied. */
  readonly progress?: { readonly generation: number; readonly error?: string };
}

/**
 * The resources granted to a pod. A resize for which the node has no room is not granted, and the pod keeps its current
 * resources until there is room.
 */
export class Allocation {
  readonly #fits: (pod: Pod) => Rejection | undefined;
  readonly #recordEvent: (type: "Normal" | "Warning", reason: string, message: string) => void;
  #granted: Pod;
  #wanted: Pod;
  #state: ResizeState = {};

  constructor(
    pod: Pod,
    fits: (pod: Pod) => Rejection | undefined,
    recordEvent: (type: "Normal" | "Warning", reason: string, message: string) => void,
  ) {
    this.#fits = fits;
    this.#recordEvent = recordEvent;
    this.#wanted = pod;
    this.#granted = isPending(pod) ? withResourcesOfStatus(pod) : pod;
    this.update(pod);
  }

  get state(): ResizeState {
    return this.#state;
  }
  get isResizing(): boolean {
    return this.#state.progress !== undefined;
  }

  /** Takes a newer version of the pod, and returns it with the resources that it may use. */
  update(pod: Pod): Pod {
    this.#wanted = pod;
    const generation = pod.metadata.generation ?? 0;
    if (isSameResources(pod, this.#granted)) {
      const { pending: _, ...rest } = this.#state;
      this.#state = rest;
      this.#granted = pod;
      return pod;
    }
    const refusal = this.#fits(pod);
    if (!refusal) {
      this.#granted = pod;
      this.begin();
      return pod;
    }
    const before = this.#state.pending;
    this.#state = { ...this.#state, pending: { ...refusal, generation } };
    this.#granted = withResources(pod, this.#granted);
    if (before?.reason !== refusal.reason || before.generation !== generation) {
      const summary = summaryOf(pod, generation, refusal.message);
      this.#recordEvent("Warning", `Resize${refusal.reason}`, `Pod resize ${refusal.reason}: ${summary}`);
    }
    return this.#granted;
  }

  /** Tries again, because there may be room now. */
  retry(): Pod {
    return this.#state.pending ? this.update(this.#wanted) : this.#granted;
  }

  begin(): void {
    const generation = this.#granted.metadata.generation ?? 0;
    this.#state = { progress: { generation } };
    this.#recordEvent("Normal", "ResizeStarted", `Pod resize started: ${summaryOf(this.#granted, generation)}`);
  }

  failed(error: string): void {
    const { progress } = this.#state;
    if (!progress || progress.error === error) return;
    this.#state = { ...this.#state, progress: { ...progress, error } };
    const summary = summaryOf(this.#granted, progress.generation, error);
    this.#recordEvent("Warning", "ResizeError", `Pod resize error: ${summary}`);
  }

  completed(): void {
    const { progress, ...rest } = this.#state;
    if (!progress) return;
    this.#state = rest;
    this.#recordEvent(
      "Normal",
      "ResizeCompleted",
      `Pod resize completed: ${summaryOf(this.#granted, progress.generation)}`,
    );
  }
}

const isPending = ({ status }: Pod): boolean =>
  status.conditions?.some(({ type }) => type === "PodResizePending") ?? false;

const resourcesKey = ({ spec }: Pod): string =>
  JSON.stringify([
    spec.resources,
    ...[...spec.containers, ...(spec.initContainers ?? [])].map((one) => amountsOf(one.resources)),
  ]);
const isSameResources = (a: Pod, b: Pod): boolean =>
  a.spec.containers === b.spec.containers || resourcesKey(a) === resourcesKey(b);

function replaceResources(pod: Pod, resourcesOf: (container: Container) => ResourceRequirements): Pod {
  const replaced = (containers: Container[]) => containers.map((one) => ({ ...one, resources: resourcesOf(one) }));
  const { initContainers } = pod.spec;
  const spec = { ...pod.spec, containers: replaced(pod.spec.containers) };
  return { ...pod, spec: initContainers ? { ...spec, initContainers: replaced(initContainers) } : spec };
}

/** The newer pod with the older one's resources. */
function withResources(pod: Pod, from: Pod): Pod {
  const old = [...from.spec.containers, ...(from.spec.initContainers ?? [])];
  return replaceResources(pod, (own) => old.find(({ name }) => name === own.name)?.resources ?? own.resources);
}

/** The pod with the resources that an earlier kubelet granted. */
function withResourcesOfStatus(pod: Pod): Pod {
  const { containerStatuses = [], initContainerStatuses = [] } = pod.status;
  const statuses = [...containerStatuses, ...initContainerStatuses];
  return replaceResources(pod, (own) => statuses.find(({ name }) => name === own.name)?.resources ?? own.resources);
}

function summaryOf({ spec }: Pod, generation: number, error = ""): string {
  const short = (containers: readonly Container[]) => containers.map(({ name, resources }) => ({ name, resources }));
  const { initContainers = [], containers } = spec;
  return JSON.stringify({
    ...(initContainers.length > 0 ? { initContainers: short(initContainers) } : {}),
    containers: short(containers),
    generation,
    ...(error === "" ? {} : { error }),
  });
}
