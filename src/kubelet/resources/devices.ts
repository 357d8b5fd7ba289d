import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import type { Clock } from "#lib/clock.ts";
import { GrpcClient } from "#lib/grpc/client.ts";
import { serveGrpc, serveUnary } from "#lib/grpc/server.ts";
import { GrpcError, isGrpcError } from "#lib/grpc/status.ts";
import type { Log } from "#lib/log.ts";
import { aborted } from "#lib/tasks.ts";
import { type ContainerAllocation, deviceCalls, Empty, RegisterRequest, registerPath } from "./device-calls.ts";

export interface DeviceManagerOptions {
  /** Where plugins find our socket and put theirs. */
  readonly dir: string;
  /** Keeps who has which device over a restart. */
  readonly checkpoint: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Called when the number of devices changed. */
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
interface Allocation {
  readonly podUid: string;
  readonly container: string;
  readonly resource: string;
  readonly ids: readonly string[];
  readonly response: ContainerAllocation;
}

/** Devices that plugins offer, and which container has which. */
export class DeviceManager {
  readonly #options: DeviceManagerOptions;
  readonly #plugins = new Map<string, Plugin>();
  #allocations: Allocation[] = [];
  /** One after another: two must not choose the same device. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(options: DeviceManagerOptions) {
    this.#options = options;
  }

  /** Lets plugins register until the signal. */
  async run(signal: AbortSignal): Promise<void> {
    const { dir, checkpoint } = this.#options;
    await mkdir(dir, { recursive: true });
    this.#allocations = JSON.parse(await readFile(checkpoint, "utf8").catch(() => "[]"));
    const messages = { request: RegisterRequest, response: Empty };
    const register = serveUnary(registerPath, messages, async ({ version, endpoint, resourceName }) => {
      if (version !== "v1beta1") throw new GrpcError("INVALID_ARGUMENT", `version ${version} is not supported`);
      await this.#register(resourceName, `${dir}/${endpoint}`, signal);
      return {};
    });
    await using _server = await serveGrpc(`${dir}/kubelet.sock`, [register]);
    await aborted(signal);
    for (const { client } of this.#plugins.values()) client.close();
  }

  counts(): ReadonlyMap<string, DeviceCount> {
    const count = ({ all, healthy }: Plugin) => ({ capacity: all.size, allocatable: healthy.size });
    return new Map(Array.from(this.#plugins, ([resource, plugin]) => [resource, count(plugin)]));
  }

  /** The devices of a container, chosen now or before; rejects if there are too few. */
  allocate(request: DeviceRequest): Promise<ContainerAllocation[]> {
    const mine = this.#turn.then(async () => {
      const wanted = Object.entries(request.resources).filter(
        ([resource, count]) => count > 0 && this.#offers(resource),
      );
      const given: ContainerAllocation[] = [];
      for (const [resource, count] of wanted) given.push(await this.#allocateOne(request, resource, count));
      return given;
    });
    this.#turn = mine.catch(() => {});
    return mine;
  }

  /** To be called before each start of a container that has devices. */
  async preStart(podUid: string, container: string): Promise<void> {
    for (const { resource, ids } of this.#allocations.filter(isOf(podUid, container))) {
      const plugin = this.#plugins.get(resource);
      if (plugin?.needsPreStart) await plugin.client.call(deviceCalls.preStart, { ids }, { timeoutMs: 30_000 });
    }
  }

  /** Gives back the devices of all other pods. */
  async keepOnly(podUids: ReadonlySet<string>): Promise<void> {
    const kept = this.#allocations.filter(({ podUid }) => podUids.has(podUid));
    if (kept.length === this.#allocations.length) return;
    this.#allocations = kept;
    await this.#save();
  }

  /** Also one whose plugin is away for the moment, if it was ever given out. */
  #offers(resource: string): boolean {
    return this.#plugins.has(resource) || this.#allocations.some((one) => one.resource === resource);
  }

  async #allocateOne(
    { podUid, container }: DeviceRequest,
    resource: string,
    count: number,
  ): Promise<ContainerAllocation> {
    const before = this.#allocations.filter(isOf(podUid, container)).find((one) => one.resource === resource);
    if (before?.ids.length === count) return before.response;
    const plugin = this.#plugins.get(resource);
    const taken = new Set(this.#allocations.filter((one) => one.resource === resource).flatMap(({ ids }) => ids));
    const free = plugin ? [...plugin.healthy].filter((id) => !taken.has(id)) : [];
    if (!plugin || free.length < count) {
      throw new Error(
        `requested number of devices unavailable for ${resource}. Requested: ${count}, Available: ${free.length}`,
      );
    }
    const ids = await prefer(plugin, free, count);
    const request = { containerRequests: [{ ids }] };
    const { containerResponses } = await plugin.client.call(deviceCalls.allocate, request, { timeoutMs: 30_000 });
    const [response] = containerResponses;
    if (!response) throw new Error(`no containers in return allocation response of ${resource}`);
    this.#allocations.push({ podUid, container, resource, ids, response });
    await this.#save();
    return response;
  }

  async #register(resource: string, socket: string, signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options;
    const client = new GrpcClient({ address: `unix://${socket}`, clock });
    const options = await client.call(deviceCalls.options, {}, { timeoutMs: 10_000 });
    this.#plugins.get(resource)?.client.close();
    const plugin: Plugin = {
      client,
      needsPreStart: options.preStartRequired,
      canPrefer: options.getPreferredAllocationAvailable,
      healthy: new Set(),
      all: new Set(),
    };
    this.#plugins.set(resource, plugin);
    log.info("device plugin registered", { resource });
    // Lives as long as the plugin's connection, and never rejects.
    void this.#follow(resource, plugin, signal);
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

  async #save(): Promise<void> {
    const { checkpoint } = this.#options;
    await writeFile(`${checkpoint}.draft`, JSON.stringify(this.#allocations));
    await rename(`${checkpoint}.draft`, checkpoint);
  }
}

const forgetMs = 300_000;

const isOf = (podUid: string, container: string) => (one: Allocation) =>
  one.podUid === podUid && one.container === container;

async function prefer(plugin: Plugin, free: readonly string[], count: number): Promise<readonly string[]> {
  if (!plugin.canPrefer || free.length === count) return free.slice(0, count);
  const request = { containerRequests: [{ available: free, size: count }] };
  const { containerResponses } = await plugin.client.call(deviceCalls.preferred, request, { timeoutMs: 10_000 });
  const liked = (containerResponses[0]?.ids ?? []).filter((id) => free.includes(id));
  return [...new Set([...liked, ...free])].slice(0, count);
}
