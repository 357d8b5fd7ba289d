import type { UserInfo } from "#api/exchange.ts";
import { badRequest } from "#api/status.ts";
import { zoneLabel } from "#api/well-known.ts";
import { type Client, type ObjectRef, refOf, type WriteOptions } from "#client/client.ts";
import type { SimulatedNode } from "#cluster/simulated/simulated-nodes.ts";
import type { Clock } from "#lib/async/clock.ts";
import type { Store } from "#store/store.ts";
import type { ClusterSnapshot } from "../start-cluster.ts";

/** The user of a service account: `shop/agent`, or `agent` in the namespace default. */
export function accountUser(account: string): UserInfo {
  const parts = account.split("/");
  const [namespace = "", name = ""] = parts.length === 1 ? ["default", account] : parts;
  if (parts.length > 2 || !namespace || !name) {
    throw new TypeError(`name a service account as "NAMESPACE/NAME", not ${JSON.stringify(account)}`);
  }
  const groups = ["system:serviceaccounts", `system:serviceaccounts:${namespace}`, "system:authenticated"];
  return { name: `system:serviceaccount:${namespace}:${name}`, groups };
}

/** Stops the kubelets of one node or one zone. The returned function starts them again. */
export async function failNodes(
  nodes: readonly SimulatedNode[],
  what: { readonly node: string } | { readonly zone: string },
): Promise<() => void> {
  const isMeant = ({ name, labels }: SimulatedNode): boolean =>
    "node" in what ? name === what.node : labels[zoneLabel] === what.zone;
  const meant = nodes.filter(isMeant);
  if (meant.length === 0) throw new Error(`no simulated node matches ${JSON.stringify(what)}`);
  await Promise.all(meant.map((node) => node.stop()));
  return () => {
    for (const node of meant) node.start();
  };
}

export async function takeSnapshot(cluster: {
  readonly store: Store;
  readonly nodes: readonly SimulatedNode[];
  readonly clock: Clock;
}): Promise<ClusterSnapshot> {
  const { entries, revision } = await cluster.store.list("/registry/");
  const nodes = cluster.nodes.map(({ runtime }) => runtime.state);
  return { store: { entries, revision }, nodes, nowMs: cluster.clock.now() };
}

/** A client for tests: it says what a call lacks, and refuses unknown fields if the test wants that. */
export function testClient(client: Client, fieldValidation: WriteOptions["fieldValidation"]): Client {
  const strict = fieldValidation ? { fieldValidation } : {};
  return {
    ...client,
    get: async (resource, ref, options) => client.get(resource, placed(resource, ref), options),
    create: async (resource, object, options) =>
      client.create(resource, placedObject(resource, object), { ...strict, ...options }),
    update: async (resource, object, options) =>
      client.update(resource, placedObject(resource, object), { ...strict, ...options }),
    patch: async (resource, ref, patch, options) =>
      client.patch(resource, placed(resource, ref), patch, { ...strict, ...options }),
    apply: async (resource, object, options) =>
      client.apply(resource, placedObject(resource, object), { ...strict, ...options }),
    delete: async (resource, ref, options) => client.delete(resource, placed(resource, ref), options),
  };
}

interface Kind {
  readonly kind: string;
  readonly scope: string;
  readonly verbs: readonly string[];
}

function placed(resource: Kind, ref: ObjectRef): ObjectRef {
  check(resource, refOf(ref));
  return ref;
}

function placedObject<O>(resource: Kind, object: O): O {
  const { metadata } = object as { metadata?: { namespace?: string; name?: string; generateName?: string } };
  check(resource, { ...metadata, name: metadata?.name ?? metadata?.generateName });
  return object;
}

function check(
  { kind, scope, verbs }: Kind,
  { namespace, name }: { namespace?: string; name?: string | undefined },
): void {
  // Reviews are answered and not stored, so they have no name.
  if (!name && verbs.includes("get")) throw badRequest(`metadata.name is needed: which ${kind} is meant?`);
  if (scope === "Namespaced" && !namespace) {
    throw badRequest(`metadata.namespace is needed: every ${kind} is in a namespace, such as "default"`);
  }
}
