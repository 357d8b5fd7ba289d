import assert from "node:assert/strict";
import { Deployment } from "#api/apps/deployment.ts";
import { ReplicaSet } from "#api/apps/replica-set.ts";
import { ConfigMap } from "#api/core/config-map.ts";
import { Namespace } from "#api/core/namespace.ts";
import { Pod } from "#api/core/pod.ts";
import { isConditionTrue } from "#api/meta/condition.ts";
import { controllerOf } from "#api/meta/owner.ts";
import { type InputOf } from "#api/resource.ts";
import { isNotFound } from "#api/status.ts";
import { type Random } from "#lib/data/random.ts";
import { type Log } from "#lib/process/log.ts";
import { limitsOf, Monitor } from "./monitor.ts";
import { isAboutEvents, type World } from "./world.ts";

const namespace = "shop";
const metadata = { namespace, name: "web" };
const labels = { app: "web" };

interface Wish {
  replicas: number;
  version: number;
  readonly maxSurge: number | string;
  readonly maxUnavailable: number | string;
}

function deploymentOf({ replicas, version, maxSurge, maxUnavailable }: Wish): InputOf<Deployment> {
  const leavesLostNodes = ["not-ready", "unreachable"].map((key) => ({
    key: `node.kubernetes.io/${key}`,
    operator: "Exists" as const,
    effect: "NoExecute" as const,
    tolerationSeconds: 10,
  }));
  const containers = [{ name: "web", image: `web:${version}` }];
  const spec = { containers, tolerations: leavesLostNodes, terminationGracePeriodSeconds: 5 };
  return {
    metadata,
    spec: {
      replicas,
      revisionHistoryLimit: 2,
      selector: { matchLabels: labels },
      strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge, maxUnavailable } },
      template: { metadata: { labels }, spec },
    },
  };
}

/** Longer than the longest retry delay. */
const quietMs = 60_000;

/** What one seed does to a deployment, and what must hold meanwhile. */
export class Story {
  readonly #world: World;
  readonly #monitor: Monitor;
  readonly #random: Random;
  readonly #wish: Wish;
  #counted = 0;
  #tried = 0;

  constructor(world: World, log: Log) {
    this.#world = world;
    this.#random = world.random;
    this.#monitor = new Monitor(world, namespace, log);
    const [maxSurge, maxUnavailable] = this.#pick<readonly [number | string, number | string]>(
      ["25%", "25%"],
      [1, 0],
      [0, 1],
      [2, 1],
      ["50%", 0],
    );
    this.#wish = { replicas: this.#size(), version: 1, maxSurge, maxUnavailable };
  }

  async tell(): Promise<void> {
    await this.#world.cluster.apply(Namespace, { metadata: { name: namespace } });
    await this.#world.cluster.settle();
    await this.#create();
    await this.#rollOut();
    await this.#disrupt();
    await this.#end();
    assert.deepEqual(this.#monitor.lostWrites(), []);
  }

  async #create(): Promise<void> {
    this.#world.faults.isOn = true;
    await this.#apply();
    await this.#count();
    if (this.#random() < 0.5) await this.#change();
    await this.#calm();
  }

  /** Nothing is lost in this phase, so the strategy's minimum of pods is available at every moment. */
  async #rollOut(): Promise<void> {
    this.#monitor.expect(this.#limits());
    this.#world.faults.isOn = true;
    await this.#change();
    // The size does not change during a rollout: otherwise each set keeps its share, available or not.
    for (let rounds = this.#random() * 3; rounds >= 1; rounds--) await this.#change("template");
    await this.#count();
    await this.#calm();
  }

  async #disrupt(): Promise<void> {
    this.#monitor.expect({ ...this.#limits(), floor: 0 });
    this.#world.faults.isOn = true;
    for (let rounds = 2 + this.#random() * 3; rounds >= 1; rounds--) {
      await this.#pick(
        () => this.#change(),
        () => this.#deletePods(),
        () => this.#loseNode(),
      )();
      await this.#pass(20_000);
    }
    await this.#count();
    await this.#calm();
  }

  async #end(): Promise<void> {
    const { cluster, faults, machines } = this.#world;
    this.#monitor.expect({ ...this.#limits(), floor: 0 });
    faults.isOn = true;
    if (this.#random() < 0.3) await cluster.client.delete(Deployment, metadata);
    await this.#pass(2000);
    await cluster.client.delete(Namespace, { name: namespace });
    await this.#pass(30_000);
    faults.isOn = false;
    await cluster.settle({ quietMs });
    await assert.rejects(cluster.client.get(Namespace, { name: namespace }), isNotFound);
    const { entries } = await cluster.store.list("/registry/");
    const left = entries.map(({ key }) => key).filter((key) => key.includes(`/${namespace}/`) && !isAboutEvents(key));
    assert.deepEqual(left, []);
    for (const { runtime } of machines) assert.deepEqual(await runtime.listSandboxes(), []);
    assert.deepEqual(this.#monitor.wrongs, []);
    assert.deepEqual(this.#world.doubles, []);
  }

  /** Faults end and all nodes are back: now the deployment must converge. */
  async #calm(): Promise<void> {
    const { cluster, faults, machines } = this.#world;
    await this.#pass(30_000);
    faults.isOn = false;
    for (const machine of machines) machine.isCutOff = false;
    await cluster.settle({ quietMs });
    assert.deepEqual(this.#monitor.wrongs, []);
    const pods = (await cluster.list(Pod, namespace)).filter(({ metadata }) => metadata.labels?.app === "web");
    const ready = pods.filter(({ status }) => isConditionTrue(status.conditions, "Ready"));
    const { status } = await cluster.client.get(Deployment, metadata);
    const { replicas, version } = this.#wish;
    const seen = [pods.length, ready.length, status.replicas, status.availableReplicas, status.updatedReplicas];
    assert.deepEqual(seen, Array(5).fill(replicas));
    const images = new Set(pods.map(({ spec }) => spec.containers[0]?.image));
    assert.deepEqual([...images], [`web:${version}`]);
    await this.#checkOwners(pods);
    await this.#checkContainers();
    await this.#checkCount();
  }

  async #checkOwners(pods: readonly Pod[]): Promise<void> {
    const { cluster } = this.#world;
    const sets = await cluster.list(ReplicaSet, namespace);
    const { uid } = (await cluster.client.get(Deployment, metadata)).metadata;
    assert(sets.every((set) => controllerOf(set)?.uid === uid));
    const [current, ...others] = sets.toSorted((a, b) => b.spec.replicas - a.spec.replicas);
    assert(pods.every((pod) => controllerOf(pod)?.uid === current?.metadata.uid));
    assert.deepEqual(
      others.map(({ spec, status }) => [spec.replicas, status.replicas]),
      others.map(() => [0, 0]),
    );
    assert(others.length <= 2, `${others.length} old sets`);
  }

  /** The runtime has exactly the containers of each node's pods, and they run. */
  async #checkContainers(): Promise<void> {
    const { cluster, machines } = this.#world;
    const pods = await cluster.list(Pod);
    for (const { name, runtime } of machines) {
      const wanted = pods.filter(({ spec }) => spec.nodeName === name).map(({ metadata }) => metadata.uid);
      const sandboxes = await runtime.listSandboxes();
      assert.deepEqual(sandboxes.map(({ pod }) => pod.uid).sort(), wanted.sort(), `sandboxes of ${name}`);
      const running = (await runtime.listContainers()).filter(({ state }) => state === "running");
      const owners = running.map(({ sandboxId }) => sandboxes.find(({ id }) => id === sandboxId)?.pod.uid);
      assert.deepEqual(owners.sort(), wanted, `containers of ${name}`);
    }
  }

  /** Increments a counter like a client that may lose answers: every acknowledged increment must be in it. */
  async #count(): Promise<void> {
    let isOver = false;
    const counting = this.#countUp().finally(() => {
      isOver = true;
    });
    await this.#world.cluster.until(() => isOver);
    await counting;
  }

  async #countUp(): Promise<void> {
    const { user } = this.#world;
    const name = "counter";
    for (let at = 0; at < 5; at++) {
      this.#tried++;
      try {
        const now = await user.get(ConfigMap, { namespace, name }).catch((error: unknown) => {
          if (isNotFound(error)) return undefined;
          throw error;
        });
        const data = { count: String(Number(now?.data?.count ?? 0) + 1) };
        if (now) await user.update(ConfigMap, { ...now, data });
        else await user.create(ConfigMap, { metadata: { namespace, name }, data });
        this.#counted++;
      } catch {
        // The answer was lost, so it may or may not have been written.
      }
    }
  }

  async #checkCount(): Promise<void> {
    const ref = { namespace, name: "counter" };
    const counter = await this.#world.cluster.client.get(ConfigMap, ref).catch(() => undefined);
    const count = Number(counter?.data?.count ?? 0);
    assert(count >= this.#counted && count <= this.#tried, `${this.#counted} <= ${count} <= ${this.#tried}`);
  }

  async #change(what: "template" | "anything" = "anything"): Promise<void> {
    const { version, replicas } = this.#wish;
    if (what === "anything" && this.#random() < 0.4) this.#wish.replicas = this.#size();
    if (this.#wish.replicas === replicas || this.#random() < 0.5) this.#wish.version = version + 1;
    await this.#apply();
    await this.#pass(this.#pick(0, 200, 3000, 30_000));
  }

  async #apply(): Promise<void> {
    this.#monitor.allow(this.#limits());
    await this.#world.cluster.apply(Deployment, deploymentOf(this.#wish));
  }

  async #deletePods(): Promise<void> {
    const { cluster } = this.#world;
    const pods = await cluster.list(Pod, namespace);
    for (const pod of pods.filter(() => this.#random() < 0.4)) {
      const gracePeriodSeconds = this.#pick(0, 2, 5);
      await cluster.client.delete(Pod, pod, { gracePeriodSeconds });
    }
  }

  async #loseNode(): Promise<void> {
    const machine = this.#pick(...(this.#world.machines as [World["machines"][number]]));
    machine.isCutOff = true;
    machine.kill();
    await this.#pass(90_000);
    machine.isCutOff = false;
  }

  #limits() {
    const { replicas, maxSurge, maxUnavailable } = this.#wish;
    const spec = { replicas, strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge, maxUnavailable } } };
    return limitsOf({ spec } as Pick<Deployment, "spec">);
  }

  async #pass(mostMs: number): Promise<void> {
    await this.#world.cluster.clock.advance(Math.floor(this.#random() * mostMs));
  }

  #pick<T>(...choices: readonly [T, ...T[]]): T {
    return choices[Math.floor(this.#random() * choices.length)] ?? choices[0];
  }

  #size(): number {
    return 3 + Math.floor(this.#random() * 8);
  }
}
