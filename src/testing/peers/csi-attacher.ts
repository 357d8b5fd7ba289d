import { Node } from "#api/core/node.ts";
import { PersistentVolume } from "#api/core/persistent-volume/persistent-volume.ts";
import { claimNamesOf } from "#api/core/pod/pod-references.ts";
import { Pod } from "#api/core/pod.ts";
import { csiVolumeName } from "#api/storage/csi-volume-name.ts";
import { VolumeAttachment } from "#api/storage/volume-attachment.ts";
import { equal } from "#lib/data/equal.ts";
import { type Reconciler, type ReconcilerDeps, watch } from "#runtime/reconciler.ts";

const finalizer = "external-attacher/test";

/** Attaches the volumes of all drivers without a disk, and remembers what must never happen. */
export class CsiAttacher {
  /** The nodes of each volume. */
  readonly #at = new Map<string, Set<string>>();
  /** What each node has mounted. */
  readonly #mounted = new Map<string, Set<string>>();
  /** What went wrong: a volume at two nodes, or one taken from a node that uses it. */
  readonly faults: string[] = [];

  /** Plays the external attacher. */
  readonly attach = ({ client }: ReconcilerDeps): Reconciler<VolumeAttachment> => ({
    name: "csi-attacher",
    reconciles: VolumeAttachment,
    reconcile: async (attachment, signal) => {
      const { metadata, spec, status } = attachment;
      const volume = spec.source.persistentVolumeName ?? "";
      const finalizers = metadata.finalizers ?? [];
      if (metadata.deletionTimestamp) {
        if (!finalizers.includes(finalizer)) return;
        this.#detach(volume, spec.nodeName);
        const left = finalizers.filter((one) => one !== finalizer);
        await client.update(
          VolumeAttachment,
          { ...attachment, metadata: { ...metadata, finalizers: left } },
          { signal },
        );
        return;
      }
      if (!finalizers.includes(finalizer)) {
        const more = [...finalizers, finalizer];
        await client.update(
          VolumeAttachment,
          { ...attachment, metadata: { ...metadata, finalizers: more } },
          { signal },
        );
        return;
      }
      if (status.attached) return;
      this.#attach(volume, spec.nodeName);
      await client.updateStatus(VolumeAttachment, { ...attachment, status: { attached: true } }, { signal });
    },
  });

  /** Plays the volume manager of every kubelet: says what it uses before it mounts, and mounts what is attached. */
  readonly mount = ({ client, informers }: ReconcilerDeps): Reconciler<Node> => {
    const pods = informers.of(Pod);
    const volumes = informers.of(PersistentVolume);
    return {
      name: "csi-mounter",
      reconciles: Node,
      watches: [watch(Pod, ({ object: { spec } }) => (spec.nodeName ? [{ name: spec.nodeName }] : []))],
      reconcile: async (node, signal) => {
        const { name } = node.metadata;
        const claims = pods
          .by("node", name)
          .flatMap((pod) => claimNamesOf(pod).map((claim) => `${pod.metadata.namespace}/${claim}`));
        const used = claims.flatMap((claim) => volumes.by("claim", claim));
        const names = new Map(
          used.flatMap(({ metadata, spec: { csi } }) => (csi ? [[csiVolumeName(csi), metadata.name]] : [])),
        );
        const inUse = [...names.keys()].sort();
        const isAttached = (volume: string) => node.status.volumesAttached?.some((one) => one.name === volume);
        const isReported = equal(inUse, node.status.volumesInUse ?? []);
        const mounted = isReported ? inUse.filter(isAttached).flatMap((volume) => names.get(volume) ?? []) : [];
        const before = this.#mounted.get(name) ?? new Set();
        const kept = [...before].filter((volume) => [...names.values()].includes(volume));
        this.#mounted.set(name, new Set([...kept, ...mounted]));
        if (isReported) return;
        await client.updateStatus(Node, { ...node, status: { ...node.status, volumesInUse: inUse } }, { signal });
      },
    };
  };

  nodesOf(volume: string): string[] {
    return [...(this.#at.get(volume) ?? [])];
  }

  #attach(volume: string, node: string): void {
    const nodes = (this.#at.get(volume) ?? new Set()).add(node);
    this.#at.set(volume, nodes);
    if (nodes.size > 1) this.faults.push(`${volume} is at ${[...nodes].join(" and ")}`);
  }

  #detach(volume: string, node: string): void {
    this.#at.get(volume)?.delete(node);
    if (this.#mounted.get(node)?.has(volume)) this.faults.push(`${volume} was taken from ${node}, which uses it`);
  }
}
