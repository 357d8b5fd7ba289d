import { Node } from "#api/core/node.ts";
import { isConflict, isNotFound } from "#api/status.ts";
import { CSINode } from "#api/storage/csi-node.ts";
import type { Client } from "#client/client.ts";
import { Semaphore } from "#lib/async/semaphore.ts";
import { equal } from "#lib/data/equal.ts";
import type { CsiNodeInfo } from "./csi-drivers.ts";

export interface CsiNodeDeps {
  /** Acts as this node. */
  readonly client: Client;
  readonly nodeName: string;
}

type Driver = CSINode["spec"]["drivers"][number];

/** Names of this node that drivers have, by driver, as JSON. */
const nodeIdAnnotation = "csi.volume.kubernetes.io/nodeid";
const maxCount = 2 ** 31 - 1;
const maxTries = 5;

/** Tells the cluster which drivers this node has: in its CSINode, and in the annotations and labels of its Node. */
export class CsiNodeReport {
  readonly #deps: CsiNodeDeps;
  /** One change after another: each reads what the one before has written. */
  readonly #turns = new Semaphore(1);

  constructor(deps: CsiNodeDeps) {
    this.#deps = deps;
  }

  /** Makes sure that there is a CSINode, and that it is of this node and not of an earlier one of the same name. */
  async create(): Promise<void> {
    await this.#turns.take(async () => void (await this.#ownNode()));
  }

  async add(name: string, info: CsiNodeInfo): Promise<void> {
    await this.#turns.take(async () => {
      await this.#annotate(name, info);
      await this.#change(name, driverOf(name, info));
    });
  }

  async remove(name: string): Promise<void> {
    await this.#turns.take(async () => {
      await this.#change(name, undefined);
      await this.#annotate(name, undefined);
    });
  }

  async #annotate(driver: string, info: CsiNodeInfo | undefined): Promise<void> {
    const { client, nodeName: name } = this.#deps;
    const { metadata } = await client.get(Node, { name });
    const ids = idsIn(metadata.annotations?.[nodeIdAnnotation]);
    const topology = info?.topology ?? {};
    for (const [key, value] of Object.entries(topology)) {
      const known = metadata.labels?.[key];
      if (known === undefined || known === value) continue;
      const [reported, existing] = [value, known].map((text) => `${JSON.stringify(key)}:${JSON.stringify(text)}`);
      throw new Error(
        `detected topology value collision: driver reported ${reported} but existing label is ${existing}`,
      );
    }
    if (info) ids.set(driver, info.nodeId);
    else ids.delete(driver);
    const value = ids.size > 0 ? JSON.stringify(Object.fromEntries(ids)) : null;
    const body = { metadata: { annotations: { [nodeIdAnnotation]: value }, labels: topology } };
    await client.patch(Node, { name }, { type: "merge", body });
  }

  async #change(name: string, driver: Driver | undefined): Promise<void> {
    const { client } = this.#deps;
    for (let tries = 1; ; tries++) {
      const node = await this.#ownNode();
      const others = node.spec.drivers.filter((one) => one.name !== name);
      const known = node.spec.drivers.find((one) => one.name === name);
      if (equal(known, driver)) return;
      try {
        // Only the number of volumes of a driver may change, so one with another identity is removed first.
        const isSame =
          known === undefined || (driver && equal({ ...known, allocatable: 0 }, { ...driver, allocatable: 0 }));
        const drivers = driver && isSame ? [...others, driver] : others;
        await client.update(CSINode, { ...node, spec: { drivers } });
        if (isSame || !driver) return;
      } catch (error) {
        if (!isConflict(error) || tries >= maxTries) throw error;
      }
    }
  }

  async #ownNode(): Promise<CSINode> {
    const { client, nodeName: name } = this.#deps;
    const { uid } = (await client.get(Node, { name })).metadata;
    const found = await client.get(CSINode, { name }).catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
    });
    if (found?.metadata.ownerReferences?.some((owner) => owner.kind === "Node" && owner.uid === uid)) return found;
    if (found) await client.delete(CSINode, { name });
    const ownerReferences = [{ apiVersion: "v1", kind: "Node", name, uid }];
    return await client.create(CSINode, { metadata: { name, ownerReferences }, spec: { drivers: [] } });
  }
}

function driverOf(name: string, { nodeId: nodeID, maxVolumes, topology }: CsiNodeInfo): Driver {
  const count = Math.min(maxVolumes, maxCount);
  const topologyKeys = Object.keys(topology).sort();
  return { name, nodeID, topologyKeys, ...(count > 0 ? { allocatable: { count } } : {}) };
}

/** An annotation that is not ours is replaced. */
function idsIn(text: string | undefined): Map<string, string> {
  try {
    const parsed: unknown = JSON.parse(text ?? "{}");
    const entries = parsed && typeof parsed === "object" ? Object.entries(parsed) : [];
    return new Map(entries.flatMap(([key, value]) => (typeof value === "string" ? [[key, value]] : [])));
  } catch {
    return new Map();
  }
}
