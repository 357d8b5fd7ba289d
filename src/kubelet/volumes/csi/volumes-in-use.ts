import { readdir, readFile } from "node:fs/promises";
import { Node } from "#api/core/node.ts";
import { attachmentName, type CsiVolume, csiVolumeName } from "#api/storage/csi-volume-name.ts";
import { VolumeAttachment } from "#api/storage/volume-attachment.ts";
import type { Client } from "#client/client.ts";
import type { Clock } from "#lib/async/clock.ts";
import { Semaphore } from "#lib/async/semaphore.ts";

export interface VolumesInUseDeps {
  /** Acts as this node. */
  readonly client: Client;
  readonly nodeName: string;
  readonly clock: Clock;
  /** Upstream's layout: `<dir>/<pod uid>/volumes/kubernetes.io~csi/<volume>/vol_data.json`. */
  readonly podsDir: string;
}

/** What is stored beside a mount, because a later process may have to undo it. */
export interface MountRecord {
  readonly driver: string;
  readonly volumeId: string;
  readonly target: string;
  readonly staging?: string;
  /** The volume must be attached to this node while it is used. */
  readonly isAttached?: boolean;
  /** The driver was not called yet. */
  readonly isWaiting?: boolean;
}
export const recordFile = "vol_data.json";

const pollMs = 250;
/** After this the pod gets an event, and the mount is tried again later. */
const maxWaitMs = 10_000;

/** The attachable volumes that this node uses, as its status lists them. Nobody detaches a volume that is listed. */
export class VolumesInUse {
  readonly #deps: VolumesInUseDeps;
  /** Directories of pods' volumes, by the name of the volume. */
  readonly #users = new Map<string, Set<string>>();
  #loaded: Promise<void> | undefined;
  readonly #writing = new Semaphore(1);

  constructor(deps: VolumesInUseDeps) {
    this.#deps = deps;
  }

  /** Lists the volume, waits until it is attached, and returns what its driver needs to mount it. */
  async use(volume: CsiVolume, user: string): Promise<Readonly<Record<string, string>>> {
    const { client, nodeName, clock } = this.#deps;
    const name = csiVolumeName(volume);
    await this.load();
    this.#add(name, user);
    let node = await this.report();
    for (let waitedMs = 0; !isAttached(node, name) && waitedMs < maxWaitMs; waitedMs += pollMs) {
      await clock.sleep(pollMs);
      node = await client.get(Node, { name: nodeName });
    }
    const id = attachmentName(volume, nodeName);
    if (!isAttached(node, name)) {
      throw new Error(`volume ${volume.volumeHandle} is not attached for volume attachment ${id}`);
    }
    return (await client.get(VolumeAttachment, { name: id })).status.attachmentMetadata ?? {};
  }

  async release(volume: CsiVolume, user: string): Promise<void> {
    const name = csiVolumeName(volume);
    await this.load();
    const users = this.#users.get(name);
    users?.delete(user);
    if (users && users.size > 0) return;
    this.#users.delete(name);
    await this.report();
  }

  /** Writes the list. The answer shows what is attached, at a moment at which the list was already visible. */
  async report(): Promise<Node> {
    const { client, nodeName: name } = this.#deps;
    return await this.#writing.take(async () => {
      const names = [...this.#users.keys()].sort();
      const volumesInUse = names.length > 0 ? names : null;
      const patch = { type: "merge", body: { status: { volumesInUse } } } as const;
      return await client.patch(Node, { name }, patch, { subresource: "status" });
    });
  }

  /** Reads what earlier processes have mounted. */
  async load(): Promise<void> {
    this.#loaded ??= this.#read();
    await this.#loaded;
  }

  async #read(): Promise<void> {
    const { podsDir } = this.#deps;
    for (const uid of await readdir(podsDir).catch(() => [])) {
      const dir = `${podsDir}/${uid}/volumes/kubernetes.io~csi`;
      for (const volume of await readdir(dir).catch(() => [])) {
        // One that nobody can read must not hide the others.
        const record = await readRecord(`${dir}/${volume}`).catch(() => undefined);
        if (record?.isAttached) this.#add(csiVolumeName(volumeIn(record)), `${dir}/${volume}`);
      }
    }
  }

  #add(name: string, user: string): void {
    const users = this.#users.get(name);
    if (users) users.add(user);
    else this.#users.set(name, new Set([user]));
  }
}

const isAttached = ({ status }: Node, name: string): boolean =>
  status.volumesAttached?.some((volume) => volume.name === name) ?? false;

export const volumeIn = ({ driver, volumeId }: MountRecord): CsiVolume => ({ driver, volumeHandle: volumeId });

/** What was stored for a volume of a pod; undefined if it was never mounted, or is already unmounted. */
export async function readRecord(dir: string): Promise<MountRecord | undefined> {
  const text = await readFile(`${dir}/${recordFile}`, "utf8").catch(() => undefined);
  return text ? (JSON.parse(text) as MountRecord) : undefined;
}
