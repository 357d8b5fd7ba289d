import { ImagePuller } from "#kubelet/images/puller.ts";
import { insist } from "#kubelet/insist.ts";
import { NodePods } from "#kubelet/pod/node-pods.ts";
import type { PodDeps } from "#kubelet/pod/pod-deps.ts";
import type { SimulatedRuntime } from "#kubelet/runtime/simulated.ts";
import { type Clock, sleepOn } from "#lib/async/clock.ts";
import { isAbort } from "#lib/async/tasks.ts";
import { silentLog } from "#lib/process/log.ts";
import { TraceRecorder } from "#trace/recorder.ts";
import { Gate, type HeldCall } from "../gate.ts";
import type { ModelApi, PodNews } from "./model-api.ts";
import type { ModelHost } from "./model-host.ts";

/** Everything that outlives a kubelet. */
export interface ModelWorld {
  readonly clock: Clock;
  readonly api: ModelApi;
  readonly runtime: SimulatedRuntime;
  readonly machine: ModelHost;
}

const secondLookMs = 2000;
const resyncMs = 300_000;
const allocatable = { cpu: "8", memory: "32Gi", pods: "110" };

/** The pods of a kubelet, all of whose calls are held, and which can be killed at any moment. */
export class ModelKubelet {
  readonly gate = new Gate();
  readonly pods = new NodePods({ allocatable, devices: undefined, log: silentLog, finished: () => {} });
  readonly #world: ModelWorld;
  readonly #stop = new AbortController();
  readonly #clock: Clock;
  readonly #deps: PodDeps;
  readonly #news: PodNews[] = [];
  #isListening = false;

  constructor(world: ModelWorld) {
    this.#world = world;
    this.#clock = mortalClock(world.clock, this.#stop.signal);
    this.#deps = this.#podDeps();
    const { signal } = this.#stop;
    this.#run().catch((error: unknown) => {
      if (!isAbort(error, signal)) throw error;
    });
    void this.#followRuntime();
  }

  /** The API has changed. The kubelet receives changes in this order, at some time. */
  hear(news: PodNews): void {
    if (!this.#isListening) return;
    this.#news.push(news);
    void this.gate.call("hear the API", async () => this.#deliver(this.#news.shift()));
  }

  /** kill -9: no call gets an answer any more. Returns the calls that were in progress. */
  kill(): HeldCall[] {
    this.#stop.abort(new Error("killed"));
    return this.gate.shut().filter(({ name }) => !name.startsWith("hear"));
  }

  #deliver(news: PodNews | undefined): void {
    if (!news) return;
    const trace = undefined;
    const { type, object } = news;
    this.pods.podChanged(
      this.#deps,
      type === "put" ? { type, object, previous: undefined, trace } : { type, object, trace },
    );
  }

  /** As the kubelet does: compares with the runtime, starts the pods, and then compares again now and then. */
  async #run(): Promise<void> {
    const { api } = this.#world;
    const { signal } = this.#stop;
    const wanted = () => new Set(api.pod ? [api.pod.metadata.uid] : []);
    for (let looks = 0; !signal.aborted; looks++) {
      const deps = { clock: this.#clock, log: silentLog, signal };
      await insist(deps, "the runtime's pods could not be listed", () => this.pods.resync(this.#deps, wanted, signal));
      if (looks === 0) {
        this.#isListening = true;
        if (api.pod) this.#deliver({ type: "put", object: api.pod });
      }
      await this.#clock.sleep(looks === 0 ? secondLookMs : resyncMs);
    }
  }

  async #followRuntime(): Promise<void> {
    for await (const event of this.#world.runtime.events(this.#stop.signal)) {
      if (event.type === "resync") continue;
      const { type, containerId } = event;
      void this.gate.call("hear the runtime", async () => this.pods.runtimeChanged(containerId, type)).catch(() => {});
    }
  }

  /** The name of the container that is the subject of a call. */
  #containerIn(argument: unknown): string {
    if (typeof argument === "string") {
      return this.#world.runtime.containers.find(({ id }) => id === argument)?.name ?? "";
    }
    const { config } = Object(argument) as { readonly config?: { readonly name?: string } };
    return config?.name ?? "";
  }

  #podDeps(): PodDeps {
    const { gate } = this;
    const { api, machine } = this.#world;
    const clock = this.#clock;
    const runtime = gate.guard(this.#world.runtime, {
      what: "runtime",
      names: runtimeCalls,
      about: (argument) => this.#containerIn(argument),
    });
    const nothing = async () => undefined;
    return {
      nodeName: "node-1",
      pods: gate.guard(api.objects, { what: "api", names: ["writeStatus", "read", "remove"] }),
      clock,
      log: silentLog,
      recorder: new TraceRecorder({ clock, capacity: 0 }),
      events: { event() {}, flush: async () => {}, [Symbol.asyncDispose]: async () => {} },
      runtime,
      runtimeName: "simulated",
      host: gate.guard(machine.host, { what: "host", names: ["prepare", "mountVolumes", "release", "removeLogs"] }),
      puller: new ImagePuller({ runtime, clock }),
      devices: undefined,
      claims: undefined,
      objects: { configMap: nothing, secret: nothing, release() {} },
      clusterDns: { servers: [], domain: "cluster.local" },
      hostIps: ["192.0.2.1"],
      allocatable,
      services: () => [],
      runtimeHandler: async () => "",
      sourcesFor: () => noSources,
      admitResize: () => undefined,
      claimContainer: (id, uid) => this.pods.claimContainer(id, uid),
      disclaimContainer: (id) => this.pods.disclaimContainer(id),
    };
  }
}

const runtimeCalls = [
  "runSandbox",
  "stopSandbox",
  "removeSandbox",
  "sandboxStatus",
  "listSandboxes",
  "createContainer",
  "startContainer",
  "stopContainer",
  "removeContainer",
  "containerStatus",
  "listContainers",
  "execSync",
  "pullImage",
] as const;

const noSources: ReturnType<PodDeps["sourcesFor"]> = {
  configMap: async () => undefined,
  secret: async () => undefined,
  serviceAccountToken: async () => {
    throw new Error("there are no tokens here");
  },
  trustBundle: async () => undefined,
  podCertificate: async () => {
    throw new Error("there are no certificates here");
  },
  claimedVolume: async () => {
    throw new Error("no volume");
  },
};

/** A clock whose timers stop when their kubelet dies. */
function mortalClock(clock: Clock, signal: AbortSignal): Clock {
  const mortal: Clock = {
    now: () => clock.now(),
    after: (delayMs, callback) => clock.after(delayMs, () => signal.aborted || callback()),
    sleep: (delayMs, stop) => sleepOn(mortal, delayMs, stop),
  };
  return mortal;
}
