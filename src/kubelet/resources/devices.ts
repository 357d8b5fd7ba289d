import { mkdir, readdir, rm } from "node:fs/promises";
import { isExtendedResource } from "#api/core/container/resource-list.ts";
import type { Clock } from "#lib/async/clock.ts";
import { aborted } from "#lib/async/tasks.ts";
import type { Log } from "#lib/process/log.ts";
import { GrpcClient } from "#lib/proto/grpc/client.ts";
import { serveGrpc, serveUnary } from "#lib/proto/grpc/server.ts";
import { GrpcError, isGrpcError } from "#lib/proto/grpc/status.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { type ContainerAllocation, deviceCalls, Empty, RegisterRequest, registerPath } from "./device-calls.ts";
import { DeviceLedger } from "./device-ledger.ts";

export interface DeviceManagerOptions {
  /** Where plugins find our socket and put theirs; who has which device is kept there too. */
  readonly dir: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Called when the number of devices may have changed. */
  onChange?(): void;
}
export interface DeviceCount {
  readonly capacity: number;
  /** The healthy ones. */
  readonly allocatable: number;
}
export interface DeviceRequest {
  readonly podUid: string;
  readonly container: string;
  /** Whether later containers of the pod may have the same devices. */
  readonly isPassedOn: boolean;
  /** Counts by resource name; those that no plugin offers are not ours. */
  readonly resources: Readonly<Record<string, number>>;
}

interface Plugin {
  readonly client: GrpcClient;
  readonly needsPreStart: boolean;
  readonly canPrefer: boolean;
  healthy: ReadonlySet<string>;
  all: ReadonlySet<string>;
}

/** Devices that plugins offer, and which container has which. */
export class DeviceManager {
  readonly #options: DeviceManagerOptions;
  readonly #ledger: DeviceLedger;
  readonly #plugins = new Map<string, Plugin>();
  /** One after another: two must not choose the same device. */
  #turn: Promise<unknown> = Promise.resolve();

  private constructor(options: DeviceManagerOptions, ledger: DeviceLedger) {
    this.#options = options;
    this.#ledger = ledger;
  }

  static async open(options: DeviceManagerOptions): Promise<DeviceManager> {
    await mkdir(options.dir, { recursive: true, mode: 0o750 });
    return new DeviceManager(options, await DeviceLedger.open(`${options.dir}/checkpoint.json`));
  }

  /** Lets plugins register until the signal. Those of before learn from their lost sockets that they must again. */
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

  /** Takes up the plugin of a resource; another that had it before is dropped. */
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
      };
      this.#plugins.set(resource, plugin);
      before?.client.close();
      log.info("device plugin registered", { resource });
      // Lives as long as the plugin's connection, and never rejects.
      void this.#follow(resource, plugin, signal);
    } catch (error) {
      client.close();
      throw error;
    }
  }

  unregister(resource: string): void {
    this.#plugins.get(resource)?.client.close();
  }

  /** Of every resource that was ever offered: one whose plugin stays away has none. */
  counts(): ReadonlyMap<string, DeviceCount> {
    const count = (resource: string) => {
      const plugin = this.#plugins.get(resource);
      return { capacity: plugin?.all.size ?? 0, allocatable: plugin?.healthy.size ?? 0 };
    };
    return new Map(Array.from(this.#ledger.resources, (resource) => [resource, count(resource)]));
  }

  /** The devices of a container, chosen now or before; rejects if there are too few. */
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

  /** To be called before each start of a container that has devices. */
  async preStart(podUid: string, container: string): Promise<void> {
    for (const { resource, ids } of this.#ledger.of(podUid, container)) {
      const plugin = this.#plugins.get(resource);
      if (!plugin?.needsPreStart) continue;
      await plugin.client.call(deviceCalls.preStart, { ids }, { timeoutMs: 30_000 }).catch((error: unknown) => {
        throw new Error(`device plugin PreStartContainer rpc failed with err: ${messageOf(error)}`, { cause: error });
      });
    }
  }

  /** Gives back the devices of all other pods. */
  keepOnly(podUids: ReadonlySet<string>): Promise<void> {
    return this.#inTurn(() => this.#ledger.keep(({ podUid }) => podUids.has(podUid)));
  }

  /** Gives back the devices of a pod. */
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
    const { plugin, ids } = await this.#choose(podUid, resource, count);
    const call = { containerRequests: [{ ids }] };
    const { containerResponses } = await plugin.client.call(deviceCalls.allocate, call, { timeoutMs: 30_000 });
    const [response] = containerResponses;
    if (!response) throw new Error(`no containers return in allocation response of ${resource}`);
    await this.#ledger.add({ podUid, container, resource, ids, isPassedOn, response });
    return response;
  }

  /** What a container before it leaves comes first, then what the plugin likes best. */
  async #choose(podUid: string, resource: string, count: number): Promise<{ plugin: Plugin; ids: string[] }> {
    const plugin = this.#plugins.get(resource);
    if (!plugin || plugin.healthy.size === 0) {
      throw new Error(`no healthy devices present; cannot allocate unhealthy devices ${resource}`);
    }
    const { taken, passedOn } = this.#ledger.takenFrom(podUid, resource);
    const sure = passedOn.filter((id) => plugin.healthy.has(id)).slice(0, count);
    const free = [...plugin.healthy].filter((id) => !taken.has(id) && !passedOn.includes(id));
    const missing = count - sure.length;
    if (free.length < missing) {
      const numbers = `Requested: ${missing}, Available: ${free.length}`;
      throw new Error(`requested number of devices unavailable for ${resource}. ${numbers}`);
    }
    const liked = missing > 0 && missing < free.length ? await prefer(plugin, { sure, free, count }) : [];
    return { plugin, ids: [...new Set([...sure, ...liked, ...free])].slice(0, count) };
  }

  async #follow(resource: string, plugin: Plugin, signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options;
    try {
      for await (const { devices } of plugin.client.stream(deviceCalls.listAndWatch, {}, { signal })) {
        plugin.all = new Set(devices.map(({ id }) => id));
        plugin.healthy = new Set(devices.filter(({ health }) => health === "Healthy").map(({ id }) => id));
        this.#options.onChange?.();
      }
    } catch (error) {
      if (!signal.aborted && !isGrpcError(error)) log.error("device plugin failed", { resource, error });
    }
    if (signal.aborted || this.#plugins.get(resource) !== plugin) return;
    plugin.client.close();
    // What it offered may be in use: it is only gone for good if the plugin does not come back.
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
  /** Devices that are chosen already. */
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
