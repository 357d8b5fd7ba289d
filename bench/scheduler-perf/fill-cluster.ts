import { Lease } from "#api/coordination/lease.ts";
import { Node } from "#api/core/node.ts";
import { Pod } from "#api/core/pod.ts";
import { type ApiObject, type InputOf, type Resource } from "#api/resource.ts";
import { CSINode } from "#api/storage/csi-node.ts";
import { systemClock } from "#lib/async/clock.ts";
import { silentLog } from "#lib/process/log.ts";
import { openSqliteStore } from "#store/sqlite.ts";
import { build } from "#testing/build.ts";
import { lease } from "../lib/objects.ts";
import { csiNodeOf, type NodeParts, nodeOf, podOf } from "./objects.ts";

export interface Filling {
  readonly nodes: number;
  /** Pods that have a node already. */
  readonly bound?: number;
  nodeOf?(n: number): NodeParts;
}

type Write = <T extends ApiObject>(resource: Resource<T>, object: InputOf<T>) => Promise<void>;

/** Writes nodes and pods as a server would have left them, because to create them takes minutes. */
export async function fillCluster(dataDir: string, { nodes, bound = 0, nodeOf: partsOf }: Filling): Promise<void> {
  await using store = await openSqliteStore(dataDir, { clock: systemClock, log: silentLog });
  const writes: Promise<unknown>[] = [];
  let made = 0;
  const write: Write = async (resource, input) => {
    // With defaults, as the server writes them.
    const object = build(resource, input);
    const { namespace, name } = object.metadata;
    const uid = `00000000-0000-4000-8000-${`${made++}`.padStart(12, "0")}`;
    const metadata = { ...object.metadata, uid, creationTimestamp: "2026-01-01T00:00:00Z" };
    const value = Buffer.from(JSON.stringify({ ...object, metadata }));
    const key = ["/registry", resource.storagePrefix, ...(namespace ? [namespace] : []), name].join("/");
    writes.push(store.commit([{ key, value }]));
    if (writes.length >= 1000) await Promise.all(writes.splice(0));
  };
  for (let n = 0; n < nodes; n++) await writeNode(write, `node-${n}`, partsOf?.(n) ?? {});
  for (let n = 0; n < bound; n++) await writePod(write, n, `node-${n % nodes}`);
  await Promise.all(writes);
}

async function writeNode(write: Write, name: string, parts: NodeParts): Promise<void> {
  const later = new Date(Date.now() + 3_600_000);
  await write(Node, nodeOf(name, parts, later));
  const { metadata, ...rest } = lease(name, later);
  await write(Lease, { ...rest, metadata: { ...metadata, namespace: "kube-node-lease" } });
  if (parts.volumes) await write(CSINode, csiNodeOf(name, parts.volumes));
}

async function writePod(write: Write, n: number, nodeName: string): Promise<void> {
  const { spec, ...pod } = podOf({ namespace: `full-${n % 100}`, name: `pod-${n}`, cpu: "10m" });
  await write(Pod, { ...pod, spec: { ...spec, nodeName }, status: { phase: "Running" } });
}
