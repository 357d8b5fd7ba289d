import { writeFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type TempDir, tempDir } from "../boot.ts";
import { Connections, json } from "../lib/connections.ts";
import { inFlight } from "../lib/in-flight.ts";
import { type ServerProcess, startServer } from "../lib/server-process.ts";
import { type Usage, usageOf } from "../lib/usage.ts";
import { revisionOf } from "../load/scenario.ts";
import { type PodParts, podOf } from "./objects.ts";

const width = 64;
const connectionCount = 8;
/** A server is at rest when it uses less than this share of a core for so long. */
const restMs = 200;
const restShare = 0.2;

/** What some pods took. */
export interface Taken {
  readonly pods: number;
  readonly seconds: number;
  /** CPU time of the server, with what it does for them later. */
  readonly cpuMs: number;
}

export const noTime: Taken = { pods: 0, seconds: 0, cpuMs: 0 };
export const sumOf = (a: Taken, b: Taken): Taken => ({
  pods: a.pods + b.pods,
  seconds: a.seconds + b.seconds,
  cpuMs: a.cpuMs + b.cpuMs,
});

/** A server in its own process, with nodes that exist only as objects. */
export class PerfCluster implements AsyncDisposable {
  readonly #server: ServerProcess;
  readonly #connections: Connections;
  readonly #dir: TempDir;

  private constructor(server: ServerProcess, dir: TempDir) {
    this.#server = server;
    this.#dir = dir;
    this.#connections = new Connections(server, connectionCount);
  }

  /** The directory may have objects from an earlier run. */
  static async start(dir: TempDir = tempDir()): Promise<PerfCluster> {
    const config = path.join(dir.path, "scheduler.json");
    writeFileSync(config, JSON.stringify(configuration));
    // Nobody reports for the nodes, so nobody may look after them.
    const controllers = ["--controllers", "*,-node-lifecycle-controller"];
    const flags = ["--scheduler-config", config, "--no-trace", ...controllers];
    return new PerfCluster(await startServer(dir.path, flags), dir);
  }

  get usage(): Usage {
    return usageOf(this.#server.pid);
  }

  get pid(): number {
    return this.#server.pid;
  }

  async create(collection: string, object: object): Promise<void> {
    await this.#connections.call({ method: "POST", path: collection, body: json(object) });
  }

  async createAll(collection: string, count: number, objectOf: (n: number) => object): Promise<void> {
    await inFlight({ count, width }, (n) => this.create(collection, objectOf(n)));
  }

  /** Creates a namespace, and waits for the service account that pods need. */
  async makeNamespace(name: string, labels: Readonly<Record<string, string>> = {}): Promise<void> {
    await this.create("/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name, labels } });
    await this.#until(`/api/v1/namespaces/${name}/serviceaccounts/default`);
  }

  /** Creates pods, and waits until each has its node. */
  async place(namespace: string, count: number, partsOf: (n: number) => PodParts): Promise<Taken> {
    const pods = `/api/v1/namespaces/${namespace}/pods`;
    const bodies = Array.from({ length: count }, (_, n) => json(podOf(partsOf(n))));
    using bound = await this.#countBound(pods);
    const { cpuMs } = this.usage;
    const start = performance.now();
    await inFlight({ count, width }, (n) =>
      this.#connections.call({ method: "POST", path: pods, ...(bodies[n] ? { body: bodies[n] } : {}) }),
    );
    await bound.reach(count);
    return { pods: count, seconds: (performance.now() - start) / 1000, cpuMs: this.usage.cpuMs - cpuMs };
  }

  /**
   * Events about pods are written when the server finds the time. Waits for them, so that the next measurement is not disturbed, and
   * counts the CPU time.
   */
  async withRest(place: () => Promise<Taken>): Promise<Taken> {
    const before = this.usage.cpuMs;
    const taken = await place();
    return { ...taken, cpuMs: (await this.rest()) - before };
  }

  /** Waits until the server has nothing to do, and returns the CPU time that it has used. */
  async rest(): Promise<number> {
    for (let last = this.usage.cpuMs; ; ) {
      await sleep(restMs);
      const { cpuMs } = this.usage;
      if (cpuMs - last < restMs * restShare) return cpuMs;
      last = cpuMs;
    }
  }

  /** Waits until a controller has bound all claims to their volumes. */
  async untilAllBound(claims: string): Promise<void> {
    for (;;) {
      const body = await this.#connections.call({ method: "GET", path: claims });
      const { items } = JSON.parse(body.toString()) as { items: { status?: { phase?: string } }[] };
      if (items.every(({ status }) => status?.phase === "Bound")) return;
      await sleep(200);
    }
  }

  /** A server that others keep busy may need several requests. */
  async removePods(namespace: string): Promise<void> {
    const path = `/api/v1/namespaces/${namespace}/pods`;
    for (;;) {
      await this.#connections.call({ method: "DELETE", path: `${path}?gracePeriodSeconds=0` }).catch(() => undefined);
      const body = await this.#connections.call({ method: "GET", path: `${path}?limit=1` });
      const { items } = JSON.parse(body.toString()) as { items: unknown[] };
      if (items.length === 0) return;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#connections[Symbol.dispose]();
    await this.#server[Symbol.asyncDispose]();
    this.#dir[Symbol.dispose]();
  }

  async #until(path: string): Promise<void> {
    for (let attempt = 0; ; attempt++) {
      try {
        await this.#connections.call({ method: "GET", path });
        return;
      } catch (error) {
        if (attempt > 5000) throw error;
      }
    }
  }

  /** Counts the pods that get a node from now on. The server names each of them once. */
  async #countBound(pods: string): Promise<Disposable & { reach(count: number): Promise<void> }> {
    const connections = new Connections(this.#server, 1);
    const from = await revisionOf(connections, pods);
    let bound = 0;
    let wanted = Number.POSITIVE_INFINITY;
    let done = (): void => {};
    let rest: Buffer = Buffer.alloc(0);
    const selector = encodeURIComponent("spec.nodeName!=");
    connections.follow(`${pods}?watch=1&resourceVersion=${from}&fieldSelector=${selector}`, (chunk) => {
      const data = rest.length > 0 ? Buffer.concat([rest, chunk]) : chunk;
      let start = 0;
      for (let end = data.indexOf(10); end >= 0; end = data.indexOf(10, start)) {
        if (data.subarray(start, start + added.length).equals(added)) bound++;
        start = end + 1;
      }
      rest = data.subarray(start);
      if (bound >= wanted) done();
    });
    return {
      reach: (count) =>
        new Promise((resolve) => {
          wanted = count;
          done = resolve;
          if (bound >= wanted) resolve();
        }),
      [Symbol.dispose]: () => connections[Symbol.dispose](),
    };
  }
}

const added = Buffer.from('{"type":"ADDED"');

/** The default scheduler, and beside it the plugin that binds without scheduling. */
const configuration = {
  apiVersion: "kubescheduler.config.k8s.io/v1",
  kind: "KubeSchedulerConfiguration",
  profiles: [
    { schedulerName: "default-scheduler" },
    {
      schedulerName: "unused",
      plugins: { multiPoint: { enabled: [{ name: "Floor" }] } },
      pluginConfig: [{ name: "Floor", args: { module: path.join(import.meta.dirname, "floor-plugin.ts") } }],
    },
  ],
};
