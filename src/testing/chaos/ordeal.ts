import assert from "node:assert/strict";
import { Namespace } from "#api/core/namespace.ts";
import { Pod } from "#api/core/pod.ts";
import { ServiceAccount } from "#api/core/service-account.ts";
import { type ApiObject, type InputOf, type Resource } from "#api/resource.ts";
import { managedAttachAnnotation } from "#api/well-known.ts";
import { type Random, seededRandom } from "#lib/data/random.ts";
import { CsiAttacher } from "../peers/csi-attacher.ts";
import { type ChaosCluster, startChaos } from "./chaos.ts";
import { type FaultRates } from "./faults.ts";
import { SharedLoad } from "./shared-load.ts";

/** What controllers have to bring about while everything around them fails: what users do, and what must come of it. */
export interface Ordeal {
  /** What must hold, as a sentence. */
  readonly name: string;
  /** The controllers that it is about, by upstream's names. */
  readonly controllers: readonly string[];
  /** What users do, in rounds; controllers have time between them. */
  readonly rounds: readonly ((at: Place) => Promise<unknown>)[];
  /** Follows the cluster from the beginning, and reports what must never be. */
  watch?(at: Place): void;
  /** How a pod ends, after a second; undefined: it keeps running. */
  endOf?(pod: Pod, random: Random): "Succeeded" | "Failed" | undefined;
  /** What the cluster looks like at the end, and what it must look like. */
  ends(at: Place): Promise<readonly [actual: unknown, expected: unknown]>;
}

/** The namespace in which an ordeal takes place, and what it can do there. */
export interface Place {
  readonly cluster: ChaosCluster;
  readonly namespace: string;
  /** How many leaders there are for a moment in this run: what has no lasting name may exist once for each. */
  readonly leaders: number;
  /** The nodes that are alive; one that is removed is silent from then on. */
  readonly nodes: string[];
  /** Shares a load among the running pods of the namespace, in thousandths of a core. */
  load(millis: number): void;
  /** Identifies an object of the namespace. */
  ref(name: string): { readonly namespace: string; readonly name: string };
  create<T extends ApiObject>(resource: Resource<T>, object: InputOf<T>): Promise<T>;
  apply<T extends ApiObject>(resource: Resource<T>, object: InputOf<T>): Promise<T>;
  list<T extends ApiObject>(resource: Resource<T>): Promise<readonly T[]>;
  /** Follows the objects of the namespace, also those that are gone. */
  follow<T extends ApiObject>(resource: Resource<T>, see: (object: T, type: "put" | "delete") => void): void;
  /** What `watch` has noted for the end. */
  readonly seen: Set<string>;
  /** Reports a state that must never be. */
  fault(text: string): void;
}

/** An ordeal that was not passed. */
export interface Failure {
  readonly name: string;
  readonly error: Error;
}

const roundMs = 15 * 60_000;

/** Runs ordeals together in one cluster, each in its own namespace. Returns those that were not passed. */
export async function runOrdeals(seed: number, ordeals: readonly Ordeal[]): Promise<readonly Failure[]> {
  const leaders = seed % 2 === 0 ? 2 : 1;
  const loads = new SharedLoad();
  const nodes = ["node-1", "node-2", "node-3", "node-4"];
  const ends = podEnds(seed, ordeals);
  const attacher = new CsiAttacher();
  await using cluster = await startChaos(seed, {
    nodes,
    leaders,
    rates: allFaults,
    nodeMetrics: (node) => loads.metrics(node),
    endOf: ends,
    nodeAnnotations: { [managedAttachAnnotation]: "true" },
    peers: [attacher.attach, attacher.mount],
  });
  loads.cluster = cluster;
  const faults = new Map<Ordeal, string[]>();
  const places = ordeals.map((ordeal, index) => {
    const found: string[] = [];
    faults.set(ordeal, found);
    return { ordeal, at: placeOf(cluster, { namespace: namespaceOf(index), leaders, nodes, loads, found }) };
  });
  for (const { at } of places) await cluster.client.create(Namespace, { metadata: { name: at.namespace } });
  await cluster.clock.advance(60_000);
  // Whoever creates a pod before its account exists waits for it, on a clock that stands still meanwhile.
  await cluster.clock.runUntil(() => places.every(({ at }) => hasAccount(at)), roundMs);
  for (const { ordeal, at } of places) ordeal.watch?.(at);
  const rounds = Math.max(...ordeals.map((ordeal) => ordeal.rounds.length));
  for (let round = 0; round < rounds; round++) {
    for (const { ordeal, at } of places) {
      await ordeal.rounds[round]?.(at).catch((error: unknown) => at.fault(`round ${round + 1}: ${error}`));
    }
    await cluster.clock.advance(roundMs);
  }
  // No restart now: it would hide what the last leader has missed.
  cluster.faults.isOn = false;
  await cluster.clock.advance(roundMs);
  await cluster.settle();
  const failures: Failure[] = [];
  for (const { ordeal, at } of places) failures.push(...(await verdict(ordeal, at, faults.get(ordeal) ?? [])));
  return failures;
}

const hasAccount = ({ cluster, namespace }: Place): boolean =>
  cluster.informers.of(ServiceAccount).get({ namespace, name: "default" }) !== undefined;

async function verdict(ordeal: Ordeal, at: Place, faults: readonly string[]): Promise<Failure[]> {
  try {
    const [actual, expected] = await ordeal.ends(at);
    assert.deepEqual(actual, expected);
    assert.deepEqual(faults, []);
    return [];
  } catch (error) {
    return [{ name: ordeal.name, error: error instanceof Error ? error : new Error(String(error)) }];
  }
}

const namespaceOf = (index: number): string => `ordeal-${index}`;

const pick = <T>(random: Random, ...choices: readonly [T, ...T[]]): T =>
  choices[Math.floor(random() * choices.length)] ?? choices[0];

const allFaults = (random: Random): FaultRates => ({
  conflictEvery: 3,
  lostReply: pick(random, 0, 0.03),
  unavailable: pick(random, 0, 0.03),
  slow: pick(random, 0, 0.05),
  kill: pick(random, 0.002, 0.005, 0.01),
  watchLifeMs: pick(random, 30_000, 600_000),
  watchLagMs: pick(random, 100, 2_000),
  expired: pick(random, 0, 0.2),
});

/** Each pod ends once, and the same way however often it is asked. */
function podEnds(seed: number, ordeals: readonly Ordeal[]) {
  const random = seededRandom(seed * 31);
  const ends = new Map<string, "Succeeded" | "Failed" | undefined>();
  const byNamespace = new Map(ordeals.map((ordeal, index) => [namespaceOf(index), ordeal]));
  return (pod: Pod) => {
    const { uid, namespace } = pod.metadata;
    if (!ends.has(uid)) ends.set(uid, byNamespace.get(namespace)?.endOf?.(pod, random));
    return ends.get(uid);
  };
}

interface Setting extends Pick<Place, "namespace" | "leaders" | "nodes"> {
  readonly loads: SharedLoad;
  readonly found: string[];
}

function placeOf(cluster: ChaosCluster, { loads, found, ...setting }: Setting): Place {
  const { namespace } = setting;
  return {
    ...setting,
    cluster,
    seen: new Set(),
    load: (millis) => loads.set(namespace, millis),
    ref: (name) => ({ namespace, name }),
    create: (resource, object) => cluster.client.create(resource, object),
    apply: (resource, object) => cluster.apply(resource, object),
    list: (resource) => cluster.list(resource, namespace),
    follow(resource, see) {
      cluster.informers.of(resource).subscribe(({ type, object }) => {
        if (object.metadata.namespace === namespace) see(object, type);
      });
    },
    fault: (text) => void found.push(text),
  };
}
