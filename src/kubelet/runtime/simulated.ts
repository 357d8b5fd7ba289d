import type { Agent } from "node:http";
import type { Duplex } from "node:stream";
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
  ExecRequest,
  ExecResult,
  ExecSyncOptions,
  Image,
  LinuxResources,
  LogOptions,
  PullOptions,
  RuntimeEvent,
  Sandbox,
  SandboxConfig,
  SandboxStatus,
  StreamRequest,
} from "./runtime.ts";
import { never, noInput, succeeded } from "./simulation/nothing.ts";
import { type Program, type ProgramOptions, Programs } from "./simulation/programs.ts";
import { SimulatedImages } from "./simulation/simulated-images.ts";
import type { SimulatedTalk } from "./simulation/simulated-talk.ts";
import { addCpu, statsOf, type UsedByContainer, type UsedCpu, usedBy } from "./simulation/simulated-usage.ts";
import type { CommandCall, Ending } from "./simulation.ts";

export interface SimulatedRuntimeOptions extends ProgramOptions {
  readonly random: Random;
  /** The node's pod range: `10.244.3.0/24`. */
  readonly podCidr: string;
  /** What runs at the beginning. */
  readonly from?: SimulatedState;
}

/** Everything that runs on a simulated node, and its images. */
export interface SimulatedState {
  readonly sandboxes: readonly SimulatedSandbox[];
  readonly containers: readonly Omit<SimulatedContainer, "cancelEnding" | "over">[];
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
  cpu?: UsedCpu;
  /** When and how it ends by itself. */
  end?: { readonly atMs: number; readonly ending: Ending };
  cancelEnding(): void;
  /** Fires when it ends, if somebody waits for that. */
  over?: AbortController;
}

/** Pods that exist only as state, without processes. They cost a few objects each. */
export class SimulatedRuntime implements ContainerRuntime {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #programs: Programs;
  /** Loaded when somebody reads a log or opens a stream. */
  #talk: SimulatedTalk | undefined;
  readonly #addresses: AddressPool;
  readonly #sandboxes = new Map<string, SimulatedSandbox>();
  readonly #containers = new Map<string, SimulatedContainer>();
  readonly #images = new SimulatedImages();
  readonly #listeners = new Set<Channel<RuntimeEvent>>();

  constructor(options: SimulatedRuntimeOptions) {
    const { clock, random, podCidr, from } = options;
    this.#clock = clock;
    this.#random = random;
    this.#programs = new Programs(options);
    this.#addresses = new AddressPool(podCidr);
    if (from) this.#restore(from);
  }

  /** A copy, from which another runtime can continue. */
  get state(): SimulatedState {
    return {
      sandboxes: Array.from(this.#sandboxes.values(), (one) => ({ ...one })),
      containers: Array.from(this.#containers.values(), ({ cancelEnding: _, over: __, ...rest }) => rest),
      images: this.#images.all,
    };
  }

  #restore({ sandboxes, containers, images }: SimulatedState): void {
    for (const one of sandboxes) this.#sandboxes.set(one.status.id, { ...one });
    const used = sandboxes.flatMap(({ status }) => status.ips).toSorted();
    for (const ip of used) this.#addresses.keep(ip);
    for (const one of images) this.#images.add(one);
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
    await this.#programs.beforeSandbox(config);
    await this.#pause(this.#programs.delayOf("sandboxMs", config), signal);
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
    await this.#pause(this.#programs.delayOf("stopMs", sandbox.config), signal);
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
    if (!this.#images.find(config.image)) throw new GrpcError("NOT_FOUND", `image ${config.image} is not there`);
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
    const program = { config, sandbox: sandbox.config };
    await this.#programs.beforeStart(program);
    await this.#pause(this.#programs.delayOf("startMs", sandbox.config), signal);
    this.#readySandbox(sandboxId);
    container.status = { ...status, state: "running", startedAt: this.#clock.now() };
    this.#emit({ type: "started", containerId: id });
    const ending = this.#programs.endingOf(program);
    if (ending instanceof Promise) void this.#endLater(container, ending);
    else this.#endAfter(container, ending);
  }

  #endAfter(container: SimulatedContainer, ending: Ending | undefined): void {
    if (!ending || ending.afterMs === Number.POSITIVE_INFINITY) return;
    const { id } = container.status;
    container.end = { atMs: this.#clock.now() + ending.afterMs, ending };
    container.cancelEnding = this.#clock.after(ending.afterMs, () => this.exit(id, ending));
  }

  /** A hook that fails later has no call to fail, so its program fails. */
  async #endLater(container: SimulatedContainer, later: Promise<Ending | undefined>): Promise<void> {
    const ending = await later.catch((error: unknown) => ({ afterMs: 0, exitCode: 1, message: messageOf(error) }));
    if (container.status.state !== "running") return;
    this.#endAfter(container, ending);
  }

  async stopContainer(id: string, graceMs: number, signal?: AbortSignal) {
    const container = this.#containers.get(id);
    if (container?.status.state !== "running") return;
    const stopMs = this.#programs.delayOf("stopMs", this.#programOf(container).sandbox);
    await this.#pause(Math.min(stopMs, graceMs), signal);
    this.exit(id, { exitCode: stopMs > graceMs ? 137 : 0 });
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

  async checkpoint(id: string) {
    this.#container(id);
    throw new Error("a simulated container has no state to save");
  }

  async execSync(id: string, command: readonly string[], { signal }: ExecSyncOptions = {}): Promise<ExecResult> {
    const program = this.#runningProgram(id);
    const call: CommandCall = { ...noInput, sandbox: program.sandbox, signal };
    return (await this.#programs.run(program, command, call)) ?? succeeded;
  }

  /** Opens the connections to the URLs below. */
  get streamAgent(): Agent | undefined {
    return this.#talk?.agent;
  }
  async execUrl(id: string, request: ExecRequest): Promise<string> {
    const talk = await this.#loadTalk();
    return talk.execUrl(this.#runningProgram(id), request);
  }
  async attachUrl(id: string, request: StreamRequest): Promise<string> {
    const talk = await this.#loadTalk();
    return talk.attachUrl(this.#runningProgram(id), this.#container(id), request);
  }
  async portForwardUrl(sandboxId: string, ports: readonly number[]): Promise<string> {
    const talk = await this.#loadTalk();
    return talk.portForwardUrl(this.#readySandbox(sandboxId).config, ports);
  }

  /** The log of a container, as far as it is printed. */
  async *readLog(id: string, options: LogOptions): AsyncGenerator<Uint8Array, void> {
    const talk = await this.#loadTalk();
    const container = this.#container(id);
    yield* talk.readLog(this.#programOf(container), container, options);
  }

  async #loadTalk(): Promise<SimulatedTalk> {
    const { SimulatedTalk } = await import("./simulation/simulated-talk.ts");
    this.#talk ??= new SimulatedTalk(this.#programs, this.#clock);
    return this.#talk;
  }

  /** A connection to a port of the pod with this address; undefined if no pod of this node has it. */
  connect(ip: string, port: number): Promise<Duplex> | undefined {
    const sandbox = this.#sandboxes.values().find(({ status }) => status.ips.includes(ip));
    return sandbox && this.#programs.connect(sandbox.config, port);
  }

  #runningProgram(id: string): Program {
    const container = this.#container(id);
    const { state } = container.status;
    if (state !== "running") throw new GrpcError("UNKNOWN", `container ${id} is in ${state} state`);
    return this.#programOf(container);
  }

  #programOf({ config, sandboxId }: SimulatedContainer): Program {
    const sandbox = this.#sandboxes.get(sandboxId);
    if (!sandbox) throw new GrpcError("NOT_FOUND", `sandbox ${sandboxId} is not there`);
    return { config, sandbox: sandbox.config };
  }

  async containerStats(): Promise<ContainerStats[]> {
    return Array.from(this.#running(), (container) => statsOf(container.status, this.#usedBy(container)));
  }

  /** What running containers have used: the same as their stats, for a caller that often asks about many of them. */
  used(): UsedByContainer[] {
    return Array.from(this.#running(), (container) => this.#usedBy(container));
  }

  #running() {
    return this.#containers.values().filter(({ status }) => status.state === "running");
  }

  #usedBy(container: SimulatedContainer): UsedByContainer {
    const usage = this.#sandboxes.has(container.sandboxId) && this.#programs.usageOf(this.#programOf(container));
    container.cpu = addCpu(container, usage ? usage.cpuMillis : 0, this.#clock.now());
    return usedBy(container.status, container.cpu, usage ? usage.memoryBytes : 0);
  }

  async imageStatus(name: string): Promise<Image | undefined> {
    return this.#images.find(name);
  }

  async listImages(): Promise<Image[]> {
    return this.#images.all;
  }

  async pullImage(name: string, { signal, sandbox }: PullOptions = {}) {
    await this.#programs.beforePull(name);
    const delayMs = sandbox ? this.#programs.delayOf("pullMs", sandbox) : this.#programs.delays.pullMs;
    await this.#pause(delayMs, signal);
    return this.#images.addNamed(name);
  }

  async removeImage(name: string) {
    this.#images.remove(name);
  }

  async imageFilesystems() {
    const { length: count } = this.#images.all;
    return [{ mountPoint: "/", usedBytes: count << 20, inodesUsed: count }];
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
    container.over?.abort();
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
