import { createHash } from "node:crypto";
import { Channel } from "#lib/async/channel.ts";
import type { Clock } from "#lib/async/clock.ts";
import { type Random, randomHex } from "#lib/data/random.ts";
import { GrpcError } from "#lib/proto/grpc/status.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { AddressPool } from "./address-pool.ts";
import type {
  Container,
  ContainerConfig,
  ContainerRuntime,
  ContainerStats,
  ContainerStatus,
  CreateContainer,
  ExecResult,
  Image,
  LinuxResources,
  PullOptions,
  RuntimeEvent,
  Sandbox,
  SandboxConfig,
  SandboxStatus,
} from "./runtime.ts";
import { defaultEnding, type Ending, type SimulationDelays, type SimulationHooks } from "./simulation.ts";

export interface SimulatedRuntimeOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** The node's pod range: `10.244.3.0/24`. */
  readonly podCidr: string;
  readonly delays?: Partial<SimulationDelays>;
  readonly hooks?: SimulationHooks;
  /** What runs at the beginning. */
  readonly from?: SimulatedState;
}

/** Everything that runs on a simulated node, and its images. */
export interface SimulatedState {
  readonly sandboxes: readonly SimulatedSandbox[];
  readonly containers: readonly Omit<SimulatedContainer, "cancelEnding">[];
  readonly images: readonly Image[];
}

interface SimulatedSandbox {
  status: SandboxStatus;
  readonly config: SandboxConfig;
}
interface SimulatedContainer {
  status: ContainerStatus;
  resources: LinuxResources;
  readonly sandboxId: string;
  readonly config: ContainerConfig;
  /** What it had used when it was last asked. */
  cpu?: { readonly nanoSeconds: number; readonly atMs: number };
  /** When and how it ends by itself. */
  end?: { readonly atMs: number; readonly ending: Ending };
  cancelEnding(): void;
}

/** Pods that exist only as state, without processes. They cost a few objects each. */
export class SimulatedRuntime implements ContainerRuntime {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #hooks: SimulationHooks;
  readonly #delays: SimulationDelays;
  readonly #addresses: AddressPool;
  readonly #sandboxes = new Map<string, SimulatedSandbox>();
  readonly #containers = new Map<string, SimulatedContainer>();
  readonly #images = new Map<string, Image>();
  readonly #listeners = new Set<Channel<RuntimeEvent>>();

  constructor({ clock, random, podCidr, delays, hooks = {}, from }: SimulatedRuntimeOptions) {
    this.#clock = clock;
    this.#random = random;
    this.#hooks = hooks;
    this.#delays = { sandboxMs: 0, pullMs: 0, startMs: 0, stopMs: 0, ...delays };
    this.#addresses = new AddressPool(podCidr);
    if (from) this.#restore(from);
  }

  /** A copy, from which another runtime can continue. */
  get state(): SimulatedState {
    return {
      sandboxes: Array.from(this.#sandboxes.values(), (one) => ({ ...one })),
      containers: Array.from(this.#containers.values(), ({ cancelEnding: _, ...rest }) => rest),
      images: [...this.#images.values()],
    };
  }

  #restore({ sandboxes, containers, images }: SimulatedState): void {
    for (const one of sandboxes) this.#sandboxes.set(one.status.id, { ...one });
    const used = sandboxes.flatMap(({ status }) => status.ips).toSorted();
    for (const ip of used) this.#addresses.keep(ip);
    for (const one of images) this.#images.set(one.id, one);
    for (const one of containers) {
      const container: SimulatedContainer = { ...one, cancelEnding() {} };
      this.#containers.set(one.status.id, container);
      if (one.end) this.#endAfter(container, { ...one.end.ending, afterMs: one.end.atMs - this.#clock.now() });
    }
  }

  async version() {
    return { name: "simulated", version: "1", apiVersion: "v1" };
  }

  async conditions() {
    return ["RuntimeReady", "NetworkReady"].map((type) => ({ type, status: true, reason: "", message: "" }));
  }

  async runSandbox(config: SandboxConfig, { handler = "", signal }: { handler?: string; signal?: AbortSignal } = {}) {
    await this.#hooks.runSandbox?.(config);
    await this.#pause(this.#delays.sandboxMs, signal);
    const id = randomHex(this.#random, 32);
    const { pod, attempt, labels, annotations, security } = config;
    const ips = security.namespaces.network === "node" ? [] : [this.#addresses.take()];
    const createdAt = this.#clock.now();
    const status = { id, pod, attempt, state: "ready", createdAt, labels, annotations, handler, ips } as const;
    this.#sandboxes.set(id, { status, config });
    return id;
  }

  async stopSandbox(id: string, signal?: AbortSignal) {
    const sandbox = this.#sandboxes.get(id);
    if (sandbox?.status.state !== "ready") return;
    const running = [...this.#containers.values()].filter((one) => one.sandboxId === id);
    for (const { status } of running) this.exit(status.id, { exitCode: 137 });
    await this.#pause(this.#delays.stopMs, signal);
    for (const ip of sandbox.status.ips) this.#addresses.giveBack(ip);
    sandbox.status = { ...sandbox.status, state: "notReady", ips: [] };
    this.#emit({ type: "exited", containerId: id });
  }

  async removeSandbox(id: string, signal?: AbortSignal) {
    await this.stopSandbox(id, signal);
    for (const { sandboxId, status } of this.#containers.values()) {
      if (sandboxId === id) this.#forget(status.id);
    }
    if (this.#sandboxes.delete(id)) this.#emit({ type: "deleted", containerId: id });
  }

  async sandboxStatus(id: string): Promise<SandboxStatus | undefined> {
    return this.#sandboxes.get(id)?.status;
  }

  async listSandboxes(): Promise<Sandbox[]> {
    return Array.from(this.#sandboxes.values(), ({ status }) => status);
  }

  async createContainer({ sandboxId, config }: CreateContainer) {
    this.#readySandbox(sandboxId);
    if (!this.#image(config.image)) throw new GrpcError("NOT_FOUND", `image ${config.image} is not there`);
    const id = randomHex(this.#random, 32);
    const { name, attempt, image, labels, annotations, logPath } = config;
    const about = { id, name, attempt, image, imageRef: image, labels, annotations, logPath };
    const status = { ...about, ...never, state: "created", createdAt: this.#clock.now() } as const;
    this.#containers.set(id, { status, resources: config.resources, sandboxId, config, cancelEnding() {} });
    return id;
  }

  async startContainer(id: string, signal?: AbortSignal) {
    const container = this.#container(id);
    const { config, sandboxId, status } = container;
    if (status.state !== "created") throw new GrpcError("UNKNOWN", `container ${id} is in ${status.state} state`);
    const sandbox = this.#readySandbox(sandboxId);
    await this.#hooks.startContainer?.(config, sandbox.config);
    await this.#pause(this.#delays.startMs, signal);
    this.#readySandbox(sandboxId);
    container.status = { ...status, state: "running", startedAt: this.#clock.now() };
    this.#emit({ type: "started", containerId: id });
    const ending = this.#hooks.ending?.(config, sandbox.config);
    if (ending instanceof Promise) void this.#endLater(container, sandbox, ending);
    else this.#endAfter(container, ending ?? defaultEnding(config, sandbox.config));
  }

  #endAfter(container: SimulatedContainer, ending: Ending | undefined): void {
    if (!ending || ending.afterMs === Number.POSITIVE_INFINITY) return;
    const { id } = container.status;
    container.end = { atMs: this.#clock.now() + ending.afterMs, ending };
    container.cancelEnding = this.#clock.after(ending.afterMs, () => this.exit(id, ending));
  }

  /** A hook that fails later has no call to fail, so its program fails. */
  async #endLater(
    container: SimulatedContainer,
    sandbox: SimulatedSandbox,
    later: Promise<Ending | undefined>,
  ): Promise<void> {
    const ending = await later.catch((error: unknown) => ({ afterMs: 0, exitCode: 1, message: messageOf(error) }));
    if (container.status.state !== "running") return;
    this.#endAfter(container, ending ?? defaultEnding(container.config, sandbox.config));
  }

  async stopContainer(id: string, graceMs: number, signal?: AbortSignal) {
    if (this.#containers.get(id)?.status.state !== "running") return;
    await this.#pause(Math.min(this.#delays.stopMs, graceMs), signal);
    this.exit(id, { exitCode: this.#delays.stopMs > graceMs ? 137 : 0 });
  }

  async removeContainer(id: string) {
    this.exit(id, { exitCode: 137 });
    this.#forget(id);
  }

  async containerStatus(id: string): Promise<ContainerStatus | undefined> {
    return this.#containers.get(id)?.status;
  }

  async listContainers(): Promise<Container[]> {
    return this.containers;
  }

  /** All containers in their current state. */
  get containers(): Container[] {
    return Array.from(this.#containers.values(), ({ status, sandboxId }) => ({ ...status, sandboxId }));
  }

  async updateResources(id: string, resources: LinuxResources) {
    const container = this.#container(id);
    container.resources = { ...container.resources, ...resources };
    container.status = { ...container.status, resources: container.resources };
  }

  async reopenLog(id: string) {
    this.#container(id);
  }

  async execSync(id: string, command: readonly string[]): Promise<ExecResult> {
    const { config, status } = this.#container(id);
    if (status.state !== "running") throw new GrpcError("UNKNOWN", `container ${id} is in ${status.state} state`);
    return (
      (await this.#hooks.exec?.(config, command)) ?? {
        stdout: new Uint8Array(0),
        stderr: new Uint8Array(0),
        exitCode: 0,
      }
    );
  }

  async execUrl(id: string): Promise<string> {
    throw noStreams(this.#container(id).status.name);
  }
  async attachUrl(id: string): Promise<string> {
    throw noStreams(this.#container(id).status.name);
  }
  async portForwardUrl(sandboxId: string): Promise<string> {
    throw noStreams(this.#sandboxes.get(sandboxId)?.status.pod.name ?? sandboxId);
  }

  async containerStats(): Promise<ContainerStats[]> {
    const running = [...this.#containers.values()].filter(({ status }) => status.state === "running");
    return running.map((container) => ({ ...noUsage, ...this.#usageOf(container), ...this.#named(container) }));
  }

  #named({ status }: SimulatedContainer) {
    return {
      containerId: status.id,
      name: status.name,
      labels: status.labels,
      at: this.#clock.now(),
    };
  }

  #usageOf(container: SimulatedContainer) {
    const sandbox = this.#sandboxes.get(container.sandboxId);
    if (!this.#hooks.usage || !sandbox) return {};
    const { cpuMillis, memoryBytes } = this.#hooks.usage(container.config, sandbox.config);
    const { nanoSeconds, atMs } = container.cpu ?? { nanoSeconds: 0, atMs: container.status.startedAt };
    const nowMs = this.#clock.now();
    const cpuNanoSeconds = nanoSeconds + (nowMs - atMs) * cpuMillis * 1000;
    container.cpu = { nanoSeconds: cpuNanoSeconds, atMs: nowMs };
    return { cpuNanoSeconds, memoryWorkingSetBytes: memoryBytes, memoryUsageBytes: memoryBytes };
  }

  async imageStatus(name: string): Promise<Image | undefined> {
    return this.#image(name);
  }

  async listImages(): Promise<Image[]> {
    return [...this.#images.values()];
  }

  async pullImage(name: string, { signal }: PullOptions = {}) {
    await this.#hooks.pullImage?.(name);
    await this.#pause(this.#delays.pullMs, signal);
    const digest = `sha256:${createHash("sha256").update(name).digest("hex")}`;
    const repository = name.replace(/(@.*|:[^/:]*)$/, "");
    const about = { tags: [name], digests: [`${repository}@${digest}`], sizeBytes: 1 << 20, username: "" };
    this.#images.set(digest, { id: digest, ...about, pinned: false });
    return digest;
  }

  async removeImage(name: string) {
    this.#images.delete(this.#image(name)?.id ?? "");
  }

  async imageFilesystems() {
    return [{ mountPoint: "/", usedBytes: this.#images.size << 20, inodesUsed: this.#images.size }];
  }

  async *events(signal: AbortSignal): AsyncGenerator<RuntimeEvent, void> {
    const channel = new Channel<RuntimeEvent>();
    const close = () => channel.discard();
    signal.addEventListener("abort", close, { once: true });
    this.#listeners.add(channel);
    try {
      yield { type: "resync" };
      if (!signal.aborted) yield* channel;
    } finally {
      this.#listeners.delete(channel);
      signal.removeEventListener("abort", close);
    }
  }

  /** Makes a running container exit now, as if its program had. */
  exit(id: string, { exitCode, reason, message = "" }: Omit<Ending, "afterMs">): void {
    const container = this.#containers.get(id);
    if (container?.status.state !== "running") return;
    container.cancelEnding();
    delete container.end;
    const why = reason ?? (exitCode === 0 ? "Completed" : "Error");
    const finishedAt = this.#clock.now();
    container.status = { ...container.status, state: "exited", exitCode, reason: why, message, finishedAt };
    this.#emit({ type: "exited", containerId: id });
  }

  #readySandbox(id: string): SimulatedSandbox {
    const sandbox = this.#sandboxes.get(id);
    if (sandbox?.status.state !== "ready") throw new GrpcError("NOT_FOUND", `sandbox ${id} is not running`);
    return sandbox;
  }

  #container(id: string): SimulatedContainer {
    const container = this.#containers.get(id);
    if (!container) throw new GrpcError("NOT_FOUND", `container ${id} is not there`);
    return container;
  }

  /** Finds an image by id or by one of its names. */
  #image(name: string): Image | undefined {
    const byId = this.#images.get(name);
    return byId ?? this.#images.values().find(({ tags, digests }) => tags.includes(name) || digests.includes(name));
  }

  #forget(id: string): void {
    if (this.#containers.delete(id)) this.#emit({ type: "deleted", containerId: id });
  }

  #emit(event: RuntimeEvent): void {
    for (const listener of this.#listeners) listener.push(event);
  }

  async #pause(delayMs: number, signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    if (delayMs > 0) await this.#clock.sleep(delayMs, signal);
  }
}

const never = { startedAt: 0, finishedAt: 0, exitCode: 0, reason: "", message: "" } as const;
const noUsage = {
  cpuNanoSeconds: 0,
  memoryWorkingSetBytes: 0,
  memoryUsageBytes: 0,
  memoryRssBytes: 0,
  pageFaults: 0,
  majorPageFaults: 0,
  writableLayerBytes: 0,
  writableLayerInodes: 0,
};

const noStreams = (name: string) => new GrpcError("FAILED_PRECONDITION", `${name} is simulated: nothing runs in it`);
