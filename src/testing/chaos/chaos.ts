import { Node } from "#api/core/node.ts";
import { Pod } from "#api/core/pod.ts";
import { type Resource } from "#api/resource.ts";
import { staleObject } from "#api/status.ts";
import { type Client } from "#client/client.ts";
import { controllerUser } from "#cluster/identities.ts";
import { runControllers } from "#controllers/all.ts";
import { neverAborted } from "#lib/async/tasks.ts";
import { createAuthority } from "#lib/crypto/x509.ts";
import { type Random, seededRandom } from "#lib/data/random.ts";
import { type ReconcilerFactory, runReconcilers } from "#runtime/run-reconciler.ts";
import { heartbeats, type PodRunnerOptions, podRunner } from "../pod-runner.ts";
import { type ClusterOptions, type ComponentDeps, startCluster, type TestCluster } from "../start-cluster.ts";

/** The seeds of a chaos test: `SEEDS=200` runs more of them, `SEED=17` only one. */
export function chaosSeeds(usual: number): number[] {
  const { SEED, SEEDS } = process.env;
  return SEED ? SEED.split(",").map(Number) : Array.from({ length: Number(SEEDS ?? usual) }, (_, at) => at + 1);
}

/** Refuses a third of all writes, and calls back before some of the others. */
function unreliable(client: Client, random: Random, onCrash: () => void): Client {
  const disturb = (resource: Resource): void => {
    if (random() < 0.02) onCrash();
    // At random: if it were each third one, a write and the two events about its failure could go round for ever.
    if (random() < 1 / 3) throw staleObject(resource, "chaos");
  };
  return {
    ...client,
    async create(resource, object, options) {
      disturb(resource);
      return await client.create(resource, object, options);
    },
    async update(resource, object, options) {
      disturb(resource);
      return await client.update(resource, object, options);
    },
    async updateStatus(resource, object, options) {
      disturb(resource);
      return await client.updateStatus(resource, object, options);
    },
    async patch(resource, ref, patch, options) {
      disturb(resource);
      return await client.patch(resource, ref, patch, options);
    },
    async delete(resource, ref, options) {
      disturb(resource);
      return await client.delete(resource, ref, options);
    },
  };
}

const authorityLifeMs = 365 * 86_400_000;

/** The controllers, restarted whenever they crash. */
async function runCrashing(deps: ComponentDeps, seed: number, signal: AbortSignal): Promise<void> {
  const random = seededRandom(seed);
  const validity = { notBeforeMs: deps.clock.now(), notAfterMs: deps.clock.now() + authorityLifeMs };
  const authority = createAuthority({ subject: { commonName: "kubernetes" }, ...validity });
  const trust = { rootCa: authority.certificate, signer: { authority: () => authority }, signToken: () => "token" };
  while (!signal.aborted) {
    const crash = new AbortController();
    const clientFor = (account: string) =>
      unreliable(deps.clientFor(controllerUser(account)), random, () => crash.abort(new Error("crash")));
    await runControllers({ ...deps, ...trust, clientFor }, AbortSignal.any([signal, crash.signal]));
    await deps.clock.sleep(100, signal).catch(() => undefined);
  }
}

export interface ChaosOptions extends PodRunnerOptions, Pick<ClusterOptions, "nodeMetrics"> {
  /** The nodes, which stay ready; pods that name none get the first. Default: `node-1`. */
  readonly nodes?: readonly [string, ...string[]];
  readonly nodeAnnotations?: Readonly<Record<string, string>>;
  /** Programs of others, which neither crash nor are refused. */
  readonly peers?: readonly ReconcilerFactory[];
}

/** A cluster whose controllers crash at random between writes, and a third of whose writes are refused. */
export async function startChaos(seed: number, options: ChaosOptions = {}): Promise<TestCluster> {
  const { nodeMetrics, nodes = ["node-1"], nodeAnnotations: annotations = {}, peers = [] } = options;
  const cluster = await startCluster({
    controllers: false,
    ...(nodeMetrics ? { nodeMetrics } : {}),
    seed,
    components: (deps) => [
      (stop) => runCrashing(deps, seed, stop),
      (stop) => runReconcilers([podRunner(options), binder(nodes[0]), ...peers], deps, stop),
      (stop) => heartbeats(deps, [...nodes], stop),
    ],
  });
  for (const name of nodes) {
    await cluster.client.create(Node, {
      metadata: { name, annotations },
      status: { conditions: [{ type: "Ready", status: "True" }] },
    });
  }
  await cluster.settle();
  return cluster;
}

/** A minimal scheduler. */
const binder =
  (nodeName: string): ReconcilerFactory =>
  ({ client }) => ({
    name: "binder",
    reconciles: Pod,
    async reconcile(object) {
      const { metadata, spec } = object as Pod;
      if (spec.nodeName || metadata.deletionTimestamp) return;
      const { namespace, name } = metadata;
      const body = { apiVersion: "v1", kind: "Binding", metadata: { name }, target: { kind: "Node", name: nodeName } };
      await client.createSubresource(Pod, { namespace, name }, "binding", body, { signal: neverAborted });
    },
  });
