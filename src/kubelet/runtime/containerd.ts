import { routeSysctls } from "#kubelet/network/route-sysctls.ts";
import type { Clock } from "#lib/async/clock.ts";
import type { Log } from "#lib/process/log.ts";
import { type CallOptions, GrpcClient, type Rpc } from "#lib/proto/grpc/client.ts";
import { isGrpcError } from "#lib/proto/grpc/status.ts";
import { taskEvents } from "./containerd-events.ts";
import { endLostTask } from "./containerd-tasks.ts";
import { criCalls } from "./cri.ts";
import * as forms from "./cri-forms.ts";
import type { PodSandboxConfig } from "./cri-messages.ts";
import { mergeEvents } from "./merge-events.ts";
import { hasOomNote, removeOomNote } from "./oom-notes.ts";
import type {
  CheckpointRequest,
  ContainerRuntime,
  ContainerStatus,
  CreateContainer,
  ExecRequest,
  ExecResult,
  ExecSyncOptions,
  LinuxResources,
  PullOptions,
  RuntimeEvent,
  SandboxConfig,
  StreamRequest,
} from "./runtime.ts";

export interface ContainerdRuntimeOptions {
  /** `unix:///run/…/containerd.sock` */
  readonly address: string;
  /** The directory of notes on out-of-memory kills that containerd misses; see `writeRuncScript`. */
  readonly oomNotes?: string;
  readonly clock: Clock;
  readonly log: Log;
}

/** Real containers, run by containerd: CRI v1, and containerd's own events. */
export class ContainerdRuntime implements ContainerRuntime, Disposable {
  readonly #client: GrpcClient;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #oomNotes: string | undefined;

  constructor({ address, oomNotes, clock, log }: ContainerdRuntimeOptions) {
    this.#client = new GrpcClient({ address, clock });
    this.#clock = clock;
    this.#log = log;
    this.#oomNotes = oomNotes;
  }

  close(): void {
    this.#client.close();
  }
  [Symbol.dispose](): void {
    this.close();
  }

  async version(signal?: AbortSignal) {
    const reply = await this.#call(criCalls.version, {}, { signal });
    return { name: reply.runtimeName, version: reply.runtimeVersion, apiVersion: reply.runtimeApiVersion };
  }

  async conditions(signal?: AbortSignal) {
    const { status } = await this.#call(criCalls.status, {}, { signal });
    return status?.conditions ?? [];
  }

  async runSandbox(config: SandboxConfig, { handler, signal }: { handler?: string; signal?: AbortSignal } = {}) {
    // Another runtime may have no such settings.
    const isOnBridge = config.security.namespaces.network === "pod" && !handler;
    const sysctls = { ...(isOnBridge ? await routeSysctls() : {}), ...config.sysctls };
    const request = { config: forms.sandboxForm({ ...config, sysctls }), runtimeHandler: handler };
    const reply = await this.#call(criCalls.runPodSandbox, request, { signal, timeoutMs: 2 * defaultTimeoutMs });
    return reply.podSandboxId;
  }

  async stopSandbox(id: string, signal?: AbortSignal) {
    await this.#unlessGone(criCalls.stopPodSandbox, { podSandboxId: id }, signal);
  }

  async removeSandbox(id: string, signal?: AbortSignal) {
    const notes = this.#oomNotes;
    // Its containers go with it, and nobody removes them one by one.
    const containers = notes === undefined ? [] : await this.#containersOf(id, signal);
    try {
      await this.#unlessGone(criCalls.removePodSandbox, { podSandboxId: id }, signal);
    } catch (error) {
      if (!isGrpcError(error, "FAILED_PRECONDITION")) throw error;
      for (const container of await this.#containersOf(id, signal)) await this.removeContainer(container.id, signal);
      await this.#unlessGone(criCalls.removePodSandbox, { podSandboxId: id }, signal);
    }
    if (notes !== undefined) await Promise.all(containers.map((container) => removeOomNote(notes, container.id)));
  }

  async #containersOf(podSandboxId: string, signal: AbortSignal | undefined) {
    return (await this.#call(criCalls.listContainers, { filter: { podSandboxId } }, { signal })).containers;
  }

  async sandboxStatus(id: string, signal?: AbortSignal) {
    const reply = await this.#unlessGone(criCalls.podSandboxStatus, { podSandboxId: id }, signal);
    return reply?.status && forms.readSandboxStatus(reply.status);
  }

  async listSandboxes(signal?: AbortSignal) {
    const { items } = await this.#call(criCalls.listPodSandbox, {}, { signal });
    return items.map(forms.readSandbox);
  }

  async createContainer({ sandboxId, config, sandbox }: CreateContainer, signal?: AbortSignal) {
    const sandboxConfig: PodSandboxConfig = forms.sandboxForm(sandbox);
    const request = { podSandboxId: sandboxId, config: forms.containerForm(config), sandboxConfig };
    const reply = await this.#call(criCalls.createContainer, request, { signal });
    return reply.containerId;
  }

  async startContainer(id: string, signal?: AbortSignal) {
    await this.#call(criCalls.startContainer, { containerId: id }, { signal });
  }

  async stopContainer(id: string, graceMs: number, signal?: AbortSignal) {
    const request = { containerId: id, timeout: Math.ceil(graceMs / 1000) };
    await this.#unlessGone(criCalls.stopContainer, request, signal, graceMs + defaultTimeoutMs);
  }

  async removeContainer(id: string, signal?: AbortSignal) {
    const remove = () => this.#unlessGone(criCalls.removeContainer, { containerId: id }, signal);
    try {
      await remove();
    } catch (error) {
      if (!isGrpcError(error, "FAILED_PRECONDITION")) throw error;
      await endLostTask({ client: this.#client, clock: this.#clock }, id, signal);
      await remove();
    }
    if (this.#oomNotes !== undefined) await removeOomNote(this.#oomNotes, id);
  }

  async containerStatus(id: string, signal?: AbortSignal): Promise<ContainerStatus | undefined> {
    const reply = await this.#unlessGone(criCalls.containerStatus, { containerId: id }, signal);
    return reply?.status && this.#withOom(forms.readContainerStatus(reply.status));
  }

  async #withOom(status: ContainerStatus): Promise<ContainerStatus> {
    if (this.#oomNotes === undefined || status.state !== "exited" || !fromExitCode.has(status.reason)) return status;
    return (await hasOomNote(this.#oomNotes, status.id)) ? { ...status, reason: "OOMKilled" } : status;
  }

  async listContainers(signal?: AbortSignal) {
    const { containers } = await this.#call(criCalls.listContainers, {}, { signal });
    return containers.map(forms.readContainer);
  }

  async updateResources(id: string, resources: LinuxResources, signal?: AbortSignal) {
    const request = { containerId: id, linux: forms.resourcesForm(resources) };
    await this.#call(criCalls.updateContainerResources, request, { signal });
  }

  async reopenLog(id: string, signal?: AbortSignal) {
    await this.#call(criCalls.reopenContainerLog, { containerId: id }, { signal });
  }

  async checkpoint(id: string, { location, timeoutSeconds: timeout, signal }: CheckpointRequest) {
    await this.#call(criCalls.checkpointContainer, { containerId: id, location, timeout }, { signal });
  }

  async execSync(
    id: string,
    command: readonly string[],
    { timeoutMs, signal }: ExecSyncOptions = {},
  ): Promise<ExecResult> {
    const timeout = timeoutMs === undefined ? 0 : Math.max(1, Math.ceil(timeoutMs / 1000));
    const request = { containerId: id, cmd: command, timeout };
    // The runtime itself ends the command; this timeout is only for a runtime that hangs.
    const limit = timeoutMs === undefined ? undefined : timeoutMs + defaultTimeoutMs;
    return await this.#client.call(criCalls.execSync, request, { signal, timeoutMs: limit });
  }

  async execUrl(id: string, { command, ...streams }: ExecRequest, signal?: AbortSignal) {
    const { url } = await this.#call(criCalls.exec, { containerId: id, cmd: command, ...streams }, { signal });
    return url;
  }

  async attachUrl(id: string, streams: StreamRequest, signal?: AbortSignal) {
    const { url } = await this.#call(criCalls.attach, { containerId: id, ...streams }, { signal });
    return url;
  }

  async portForwardUrl(sandboxId: string, ports: readonly number[], signal?: AbortSignal) {
    const { url } = await this.#call(criCalls.portForward, { podSandboxId: sandboxId, port: ports }, { signal });
    return url;
  }

  async containerStats(signal?: AbortSignal) {
    const { stats } = await this.#call(criCalls.listContainerStats, {}, { signal });
    return stats.map(forms.readStats);
  }

  async imageStatus(name: string, signal?: AbortSignal) {
    const { image } = await this.#call(criCalls.imageStatus, { image: { image: name } }, { signal });
    return image && forms.readImage(image);
  }

  async listImages(signal?: AbortSignal) {
    const { images } = await this.#call(criCalls.listImages, {}, { signal });
    return images.map(forms.readImage);
  }

  /** Has no timeout: only the signal ends it. */
  async pullImage(name: string, { auth, sandbox, signal }: PullOptions = {}) {
    const sandboxConfig = sandbox && forms.sandboxForm(sandbox);
    const request = { image: { image: name }, auth, sandboxConfig };
    const { imageRef } = await this.#client.call(criCalls.pullImage, request, { signal });
    return imageRef;
  }

  async removeImage(name: string, signal?: AbortSignal) {
    await this.#unlessGone(criCalls.removeImage, { image: { image: name } }, signal);
  }

  async imageFilesystems(signal?: AbortSignal) {
    const { imageFilesystems } = await this.#call(criCalls.imageFsInfo, {}, { signal });
    return imageFilesystems.map(({ fsId, usedBytes, inodesUsed }) => ({
      mountPoint: fsId?.mountpoint ?? "",
      usedBytes: usedBytes?.value ?? 0,
      inodesUsed: inodesUsed?.value ?? 0,
    }));
  }

  async *events(signal: AbortSignal): AsyncGenerator<RuntimeEvent, void> {
    while (!signal.aborted) {
      try {
        yield { type: "resync" };
        const round = new AbortController();
        const scope = AbortSignal.any([signal, round.signal]);
        const settled = (event: RuntimeEvent) => this.#settle(event, scope);
        yield* mergeEvents(taskEvents(this.#client, scope), settled, () => round.abort());
      } catch (error) {
        if (signal.aborted) return;
        if (!isGrpcError(error)) throw error;
        this.#log.debug("the runtime's event stream broke", { error });
      }
      if (!signal.aborted) await this.#clock.sleep(reconnectMs, signal).catch(() => {});
    }
  }

  /**
   * containerd's CRI plugin hears of an exit at the same time as we do, and needs a moment to record it; even longer if the
   * process ended before its start was recorded. A reader that is too early would take the container for running.
   */
  async #settle(event: RuntimeEvent, signal: AbortSignal): Promise<RuntimeEvent> {
    if (event.type !== "exited") return event;
    for (let pauseMs = 1; !(await this.#hasEnded(event.containerId, signal)); pauseMs = Math.min(pauseMs * 2, 1024)) {
      await this.#clock.sleep(pauseMs, signal);
    }
    return event;
  }

  async #hasEnded(id: string, signal: AbortSignal): Promise<boolean> {
    const container = await this.containerStatus(id, signal);
    if (container) return container.state === "exited";
    const sandbox = await this.sandboxStatus(id, signal);
    return sandbox?.state !== "ready";
  }

  #call<In, Out>(method: Rpc<In, Out>, request: In, options: CallOptions): Promise<Out> {
    return this.#client.call(method, request, { timeoutMs: defaultTimeoutMs, ...options });
  }

  async #unlessGone<In, Out>(
    method: Rpc<In, Out>,
    request: In,
    signal: AbortSignal | undefined,
    timeoutMs = defaultTimeoutMs,
  ): Promise<Out | undefined> {
    try {
      return await this.#client.call(method, request, { signal, timeoutMs });
    } catch (error) {
      if (isGrpcError(error, "NOT_FOUND")) return undefined;
      throw error;
    }
  }
}

/** The reasons that containerd derives from the exit code if it knows no better one. */
const fromExitCode: ReadonlySet<string> = new Set(["Completed", "Error"]);
const defaultTimeoutMs = 120_000;
const reconnectMs = 200;
