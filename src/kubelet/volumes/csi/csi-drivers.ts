import type { Clock } from "#lib/async/clock.ts";
import { KeyedTurns } from "#lib/async/keyed-turns.ts";
import { GrpcClient } from "#lib/proto/grpc/client.ts";
import { csiCalls } from "./csi-calls.ts";

/** A driver that runs on this node. */
export interface CsiDriver {
  readonly name: string;
  readonly client: GrpcClient;
  readonly capabilities: ReadonlySet<number>;
  readonly node: CsiNodeInfo;
}
/** The driver's name for this node, for the CSINode object. */
export interface CsiNodeInfo {
  readonly nodeId: string;
  /** 0 means no limit. */
  readonly maxVolumes: number;
  readonly topology: Readonly<Record<string, string>>;
}

/** The CSI drivers that have registered on this node. */
export class CsiDrivers implements Disposable {
  readonly #clock: Clock;
  readonly #drivers = new Map<string, CsiDriver>();
  readonly #turns = new KeyedTurns();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Asks the driver for its identity. A driver that registers again, as after an update, replaces the old one. */
  async register(name: string, socket: string): Promise<CsiDriver> {
    const client = new GrpcClient({ address: `unix://${socket}`, clock: this.#clock });
    try {
      const info = await client.call(csiCalls.info, {}, { timeoutMs });
      const { capabilities } = await client.call(csiCalls.capabilities, {}, { timeoutMs });
      if (info.nodeId === "") throw new Error(`CSI driver ${name} gives this node no id`);
      const types = new Set(capabilities.map(({ rpc }) => rpc?.type ?? 0));
      const topology = info.accessibleTopology?.segments ?? {};
      const node = { nodeId: info.nodeId, maxVolumes: info.maxVolumesPerNode, topology };
      this.unregister(name);
      const driver = { name, client, capabilities: types, node };
      this.#drivers.set(name, driver);
      return driver;
    } catch (error) {
      client.close();
      throw error;
    }
  }

  unregister(name: string): void {
    this.#drivers.get(name)?.client.close();
    this.#drivers.delete(name);
  }

  get(name: string): CsiDriver {
    const driver = this.#drivers.get(name);
    if (!driver) throw new Error(`driver name ${name} not found in the list of registered CSI drivers`);
    return driver;
  }

  /** Runs operations on the same volume of a driver one after another. */
  oneAtATime<T>(driver: string, volumeId: string, work: () => Promise<T>): Promise<T> {
    return this.#turns.take(JSON.stringify([driver, volumeId]), work);
  }

  list(): CsiDriver[] {
    return [...this.#drivers.values()];
  }

  [Symbol.dispose](): void {
    for (const { client } of this.#drivers.values()) client.close();
    this.#drivers.clear();
  }
}

const timeoutMs = 15_000;
