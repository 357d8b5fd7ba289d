import { mkdir, readdir, rm } from "node:fs/promises";
import { isExtendedResource } from "#api/core/container/resource-list.ts";
import type { Hint } from "#kubelet/placement/merge-hints.ts";
import type { Clock } from "#lib/async/clock.ts";
import { aborted } from "#lib/async/tasks.ts";
import type { Log } from "#lib/process/log.ts";
import { GrpcClient } from "#lib/proto/grpc/client.ts";
import { serveGrpc, serveUnary } from "#lib/proto/grpc/server.ts";
import { GrpcError, isGrpcError } from "#lib/proto/grpc/status.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { type ContainerAllocation, deviceCalls, Empty, RegisterRequest, registerPath } from "./device-calls.ts";
import { type DeviceNodes, deviceHints, nodesOfDevice, sortByNode } from "./device-hints.ts";
import { DeviceLedger } from "./device-ledger.ts";

export interface DeviceManagerOptions {
  /** The directory for our socket, the plugins' sockets, and the record of allocations. */
  readonly dir: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Called when the number of devices may have changed. */
  onChange?(): void;
}
export interface DeviceCount {
  readonly capacity: number;
  /** The number of healthy devices. */
  readonly allocatable: number;
}
export interface DeviceRequest {
  readonly podUid: string;
  readonly container: string;
  /** Whether later containers of the pod may reuse these devices. */
  readonly isPassedOn: boolean;
  /** Counts by resource name; resources without a plugin are ignored. */
  readonly resources: Readonly<Record<string, number>>;
  /** The NUMA nodes from which the devices should come. */
  readonly mask?: number | undefined;
}

interface Plugin {
  readonly client: GrpcClient;
  readonly needsPreStart: boolean;
  readonly canPrefer: boolean;
  healthy: ReadonlySet<string>;
  all: ReadonlySet<string>;
  nodes: DeviceNodes;
}

/** The devices that plugins offer, and which container holds which. */
export class DeviceManager {
  readonly #options: DeviceManagerOptions;
  readonly #ledger: DeviceLedger;
  readonly #plugins = new Map<string, Plugin>();
  /** Allocations run one after another, because two must not choose the same device. */
  #turn: Promise<unknown> = Promise.resolve();

  private constructor(options: DeviceManagerOptions, ledger: DeviceLedger) {
    this.#options = options;
    this.#ledger = ledger;
  }

  static async open(options: DeviceManagerOptions): Promise<DeviceManager> {
    await mkdir(options.dir, { recursive: true, mode: 0o750 });
    return new DeviceManager(options, await DeviceLedger.open(`${options.dir}/checkpoint.json`));
  }

  /** Lets plugins register until the signal. Earlier plugins notice that their sockets are gone, and register again. */
  async run(signal: AbortSignal): Promise<void> {
    const { dir } = this.#options;
    const entries = await readdir(dir, { withFileTypes: true });
    await Promise.all(entries.filter((one) => one.isSocket()).map(({ name }) => rm(`${dir}/${name}`, { force: true })));
    const messages = { request: RegisterRequest, response: Empty };
    const register = serveUnary(registerPath, messages, async ({ version, endpoint, resourceName }) => {
      if (version !== deviceApiVersion) throw new GrpcError("UNKNOWN", unsupported(version));
      await this.register(resourceName, `${dir}/${endpoint}`, signal);
      return {};
    });
    await using _server = await serveGrpc(`${dir}/kubelet.sock`, [register]);
    await aborted(signal);
    for (const { client } of this.#plugins.values()) client.close();
  }

  /** Registers the plugin of a resource, and drops an earlier one for the same resource. */
  async register(resource: string, socket: string, signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options;
    if (!isExtendedResource(resource)) throw new Error(`the ResourceName ${JSON.stringify(resource)} is invalid`);
    const client = new GrpcClient({ address: `unix://${socket}`, clock });
    try {
      const options = await client.call(deviceCalls.options, {}, { timeoutMs: 10_000 });
      await this.#inTurn(() => this.#ledger.offered(resource));
      const before = this.#plugins.get(resource);
      const plugin: Plugin = {
        client,
        needsPreStart: options.preStartRequired,
        canPrefer: options.getPreferredAllocationAvailable,
        healthy: before?.healthy ?? new Set(),
        all: before?.all ?? new Set(),
        nodes: before?.nodes ?? new Map(),
      };
      this.#plugins.set(resource, plugin);
      before?.client.close();
      log.info("device plugin registered", { resource });
      // Runs as long as the plugin's connection, and never rejects.
      void this.#follow(resource, plugin, signal);
    } catch (error) {
      client.close();
      throw error;
    }
  }

  unregister(resource: string): void {
    this.#plugins.get(resource)?.client.close();
  }

  /** Counts for every resource that was ever offered; a resource whose plugin is gone has none. */
  counts(): ReadonlyMap<string, DeviceCount> {
    const count = (resource: string) => {
      const plugin = this.#plugins.get(resource);
      return { capacity: plugin?.all.size ?? 0, allocatable: plugin?.healthy.size ?? 0 };
    };
    return new Map(Array.from(this.#ledger.resources, (resource) => [resource, count(resource)]));
  }

  /** The devices of a container, allocated now or earlier; rejects if there are too few. */
  allocate(request: DeviceRequest): Promise<ContainerAllocation[]> {
    return this.#inTurn(async () => {
      const wanted = Object.entries(request.resources).filter(
        ([resource, count]) => count > 0 && this.#ledger.resources.has(resource),
      );
      const given: ContainerAllocation[] = [];
      for (const [resource, count] of wanted) given.push(await this.#allocateOne(request, resource, count));
      return given;
    });
  }

  /** The NUMA nodes from which each of the requested devices can come, among those of the machine. */
  hints({ podUid, container, resources }: Omit<DeviceRequest, "mask">, known: number): Hint[][] {
    return Object.entries(resources).flatMap(([resource, count]) => {
      const plugin = this.#plugins.get(resource);
      if (!plugin || count === 0) return [];
      const has = this.#ledger.of(podUid, container).find((one) => one.resource === resource);
      const { taken, passedOn } = this.#ledger.takenFrom(podUid, resource);
      const free = has ? new Set(has.ids) : plugin.healthy.difference(taken);
      const found = deviceHints({ nodes: plugin.nodes, known, free, passedOn: has ? [] : passedOn, count });
      return found ? [found.length > 0 ? found : [{ mask: undefined, isPreferred: false }]] : [];
    });
  }

  /** Call this before each start of a container with devices. */
  async preStart(podUid: string, container: string): Promise<void> {
    for (const { resource, ids } of this.#ledger.of(podUid, container)) {
      const plugin = this.#plugins.get(resource);
      if (!plugin?.needsPreStart) continue;
      await plugin.client.call(deviceCalls.preStart, { ids }, { timeoutMs: 30_000 }).catch((error: unknown) => {
        throw new Error(`device plugin PreStartContainer rpc failed with err: ${messageOf(error)}`, { cause: error });
      });
    }
  }

  /** Releases the devices of all other pods. */
  keepOnly(podUids: ReadonlySet<string>): Promise<void> {
    return this.#inTurn(() => this.#ledger.keep(({ podUid }) => podUids.has(podUid)));
  }

  /** Releases the devices of a pod. */
  release(uid: string): Promise<void> {
    return this.#inTurn(() => this.#ledger.keep(({ podUid }) => podUid !== uid));
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const mine = this.#turn.then(work);
    this.#turn = mine.catch(() => {});
    return mine;
  }

  async #allocateOne(request: DeviceRequest, resource: string, count: number): Promise<ContainerAllocation> {
    const { podUid, container, isPassedOn } = request;
    const before = this.#ledger.of(podUid, container).find((one) => one.resource === resource);
    if (before) return before.response;
    const { plugin, ids } = await this.#choose(request, resource, count);
    const call = { containerRequests: [{ ids }] };
    const { containerResponses } = await plugin.client.call(deviceCalls.allocate, call, { timeoutMs: 30_000 });
    const [response] = containerResponses;
    if (!response) throw new Error(`no containers return in allocation response of ${resource}`);
    await this.#ledger.add({ podUid, container, resource, ids, isPassedOn, response });
    return response;
  }

  /** Prefers devices that an earlier container of the pod passes on, then those that the plugin prefers. */
  async #choose(
    { podUid, mask }: DeviceRequest,
    resource: string,
    count: number,
  ): Promise<{ plugin: Plugin; ids: string[] }> {
    const plugin = this.#plugins.get(resource);
    if (!plugin || plugin.healthy.size === 0) {
      throw new Error(`no healthy devices present; cannot allocate unhealthy devices ${resource}`);
    }
    const { taken, passedOn } = this.#ledger.takenFrom(podUid, resource);
    const reused = passedOn.filter((id) => plugin.healthy.has(id)).slice(0, count);
    const free = [...plugin.healthy].filter((id) => !taken.has(id) && !passedOn.includes(id));
    const missing = count - reused.length;
    if (free.length < missing) {
      const numbers = `Requested: ${missing}, Available: ${free.length}`;
      throw new Error(`requested number of devices unavailable for ${resource}. ${numbers}`);
    }
    const { near, others } = sortByNode(free, plugin.nodes, mask);
    const isEnough = near.length >= missing;
    const sure = isEnough ? reused : [...reused, ...near];
    const rest = isEnough ? near : others;
    const open = count - sure.length;
    const liked = open > 0 && open < rest.length ? await prefer(plugin, { sure, free: rest, count }) : [];
    return { plugin, ids: [...new Set([...sure, ...liked, ...rest])].slice(0, count) };
  }

  async #follow(resource: string, plugin: Plugin, signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options;
    try {
      for await (const { devices } of plugin.client.stream(deviceCalls.listAndWatch, {}, { signal })) {
        plugin.all = new Set(devices.map(({ id }) => id));
        const nodesOf = (topology: (typeof devices)[number]["topology"]) => (topology?.nodes ?? []).map(({ id }) => id);
        plugin.nodes = new Map(devices.map(({ id, topology }) => [id, nodesOfDevice(nodesOf(topology))]));
        plugin.healthy = new Set(devices.filter(({ health }) => health === "Healthy").map(({ id }) => id));
        this.#options.onChange?.();
      }
    } catch (error) {
      if (!signal.aborted && !isGrpcError(error)) log.error("device plugin failed", { resource, error });
    }
    if (signal.aborted || this.#plugins.get(resource) !== plugin) return;
    plugin.client.close();
    // Its devices may be in use, and the plugin may come back.
    plugin.healthy = new Set();
    log.warn("device plugin gone", { resource });
    this.#options.onChange?.();
    const cancel = clock.after(forgetMs, () => {
      signal.removeEventListener("abort", cancel);
      if (this.#plugins.get(resource) !== plugin) return;
      this.#plugins.delete(resource);
      this.#options.onChange?.();
    });
    signal.addEventListener("abort", cancel, { once: true });
  }
}

export const deviceApiVersion = "v1beta1";
const forgetMs = 300_000;
const unsupported = (version: string): string =>
  `requested API version ${JSON.stringify(version)} is not supported by kubelet. Supported version is ["${deviceApiVersion}"]`;

interface Choice {
  /** Devices that are already chosen. */
  readonly sure: readonly string[];
  readonly free: readonly string[];
  readonly count: number;
}

async function prefer(plugin: Plugin, { sure, free, count }: Choice): Promise<readonly string[]> {
  if (!plugin.canPrefer) return [];
  const request = { containerRequests: [{ available: [...sure, ...free], mustInclude: sure, size: count }] };
  const { containerResponses } = await plugin.client.call(deviceCalls.preferred, request, { timeoutMs: 10_000 });
  return (containerResponses[0]?.ids ?? []).filter((id) => free.includes(id));
}
