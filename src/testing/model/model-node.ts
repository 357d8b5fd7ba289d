import { isFinished } from "#api/core/pod/pod-state.ts";
import { hasEndedForGood } from "#api/core/pod/validate/validate-pod-status.ts";
import type { Pod } from "#api/core/pod.ts";
import type { InputOf } from "#api/resource.ts";
import { SimulatedRuntime } from "#kubelet/runtime/simulated.ts";
import { nextTurn } from "#lib/async/turns.ts";
import { seededRandom } from "#lib/data/random.ts";
import type { HeldCall } from "../gate.ts";
import { createVirtualClock } from "../virtual-clock.ts";
import { ModelApi } from "./model-api.ts";
import { ModelHost } from "./model-host.ts";
import { ModelKubelet } from "./model-kubelet.ts";

const maxStatusBytes = 64 << 10;

/**
 * One node with one pod. Every call to the runtime, the machine and the API is held until the test decides its result. Time
 * stands still until the test advances it. The kubelet can be killed, and the next one takes over. The invariants are
 * checked all the time.
 */
export class ModelNode {
  readonly clock = createVirtualClock();
  readonly api: ModelApi;
  readonly runtime: SimulatedRuntime;
  readonly machine = new ModelHost();
  /** Violated invariants. */
  readonly violations: string[] = [];
  /** How often each container has started. */
  readonly starts = new Map<string, number>();
  /** Calls of dead kubelets, which the runtime may still carry out. */
  readonly late: HeldCall[] = [];
  /** Containers that were reported as ended for good. */
  readonly #over = new Set<string>();
  #kubelet: ModelKubelet;

  constructor(seed: number) {
    const { clock } = this;
    this.api = new ModelApi(clock, {
      heard: (news) => this.#kubelet.hear(news),
      accepted: (pod) => this.#checkStatus(pod),
      removing: () => this.#checkNothingRuns("the object is removed"),
    });
    const hooks = { startContainer: ({ name }: { name: string }) => this.#checkStart(name) };
    const [random, podCidr] = [seededRandom(seed), "10.244.0.0/24"];
    this.runtime = new SimulatedRuntime({ clock, random, podCidr, hooks, delays: { stopMs: 1000 } });
    this.#kubelet = new ModelKubelet(this);
  }

  /** Calls that wait for a decision, oldest first. */
  get held(): readonly HeldCall[] {
    return this.#kubelet.gate.held;
  }

  create(spec: InputOf<Pod>["spec"]): void {
    this.api.create(spec);
  }

  evict(): void {
    const { uid = "" } = this.api.pod?.metadata ?? {};
    this.#kubelet.pods.evictPod(uid, { message: "the node is short of memory", isDisruption: true });
  }

  /** Lets the container that was started last exit by itself. */
  async exit(exitCode: number): Promise<void> {
    const running = (await this.runtime.listContainers()).findLast(({ state }) => state === "running");
    if (running) this.runtime.exit(running.id, { exitCode });
  }

  /** Stops a sandbox without the kubelet's knowledge. */
  async loseSandbox(): Promise<void> {
    const [sandbox] = await this.runtime.listSandboxes();
    if (sandbox) void this.runtime.stopSandbox(sandbox.id);
  }

  /** kill -9, and the next kubelet starts. Calls in progress may still have their effect. */
  restartKubelet(): void {
    this.late.push(...this.#kubelet.kill());
    this.#kubelet = new ModelKubelet(this);
  }

  /** Lets everything happen that needs neither time nor a decision. */
  async settle(): Promise<void> {
    await nextTurn();
  }

  /** Advances time to the next timer, if there is one. */
  async nextTimer(): Promise<void> {
    if (this.clock.pending === 0) return;
    let looks = 0;
    await this.clock.runUntil(() => looks++ > 0, 3_600_000);
  }

  /** Lets the oldest held call succeed; without one, advances time. Slow calls wait for all others. */
  async goOn(slow = "nothing"): Promise<void> {
    const call = this.held.find(({ name }) => !name.startsWith(slow)) ?? this.held[0];
    if (call) void call.pass();
    else await this.nextTimer();
    await this.settle();
  }

  /** Continues without faults until nothing is left of the pod. Deletes it first, if nobody has. */
  async finish(maxMoves = 2000): Promise<void> {
    await this.settle();
    this.api.delete(5);
    for (let move = 0; move < maxMoves; move++) {
      for (const call of this.late.splice(0)) void call.pass();
      await this.settle();
      if (this.held.length === 0 && (await this.leftovers()).length === 0) return;
      await this.goOn();
    }
    this.violations.push(`the pod did not end: ${(await this.leftovers()).join(", ")}`);
  }

  /** What is left of the pod. */
  async leftovers(): Promise<string[]> {
    const [sandboxes, containers] = [await this.runtime.listSandboxes(), await this.runtime.listContainers()];
    return [
      ...(this.api.pod ? ["the object in the API"] : []),
      ...this.#kubelet.pods.workers.map(() => "a worker"),
      ...sandboxes.map(({ id, state }) => `sandbox ${id.slice(0, 6)} ${state}`),
      ...containers.map(({ id, name, state }) => `container ${name} ${id.slice(0, 6)} ${state}`),
      ...this.machine.leftovers,
    ];
  }

  close(): void {
    this.#kubelet.kill();
  }

  #checkStart(name: string): void {
    this.starts.set(name, (this.starts.get(name) ?? 0) + 1);
    if (this.#over.has(name)) this.violations.push(`container ${name} was started after it was reported as ended`);
  }

  #checkStatus(pod: Pod): void {
    const { status, spec } = pod;
    const ended = (status.containerStatuses ?? []).filter((one) => hasEndedForGood(spec, "containerStatuses", one));
    const all = spec.containers.map(({ name }) => name);
    for (const name of isFinished(pod) ? all : ended.map((one) => one.name)) this.#over.add(name);
    this.#checkNothingRuns("it was reported as ended", this.#over);
    const beginnings = this.held.filter(({ name }) => /createContainer|startContainer/.test(name));
    for (const { name } of beginnings) {
      if (this.#over.has(name.split(" ")[1] ?? ""))
        this.violations.push(`${name} is in progress, although it was reported as ended`);
    }
    if (Buffer.byteLength(JSON.stringify(status)) > maxStatusBytes) this.violations.push("the status is too large");
  }

  #checkNothingRuns(why: string, names?: ReadonlySet<string>): void {
    const running = this.runtime.containers.filter(
      ({ state, name }) => state === "running" && (!names || names.has(name)),
    );
    for (const { name } of running) this.violations.push(`container ${name} runs although ${why}`);
  }
}
