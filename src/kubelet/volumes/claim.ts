import { mkdir, stat } from "node:fs/promises";
import type { Volume } from "#api/core/volume/volume.ts";
import { isThere } from "#lib/fs/is-there.ts";
import { filesystemType, hasOwnFilesystem, mount } from "#lib/fs/mounts.ts";
import { CommandError, runCommand } from "#lib/process/processes.ts";
import { ensureHostPath } from "./host-path.ts";
import { mountNfs } from "./nfs.ts";
import { giveToGroup } from "./ownership.ts";
import {
  type ClaimedVolume,
  type MountedVolume,
  type PersistentSource,
  type VolumeContext,
  type VolumePlugin,
  volumePath,
} from "./plugin.ts";

/** A further kind of persistent volume, such as a CSI driver's. */
export interface PersistentPlugin {
  handles(source: PersistentSource): boolean;
  mount(context: VolumeContext, claimed: ClaimedVolume, volume: string): Promise<MountedVolume>;
  /** Called from time to time while pods use volumes. Without it, nothing has to be done. */
  refresh?(context: VolumeContext, claimed: ClaimedVolume): Promise<void>;
}

/** The volume of a claim: one that the pod names, or one that is created for the pod. */
export const claimVolume = (plugins: readonly PersistentPlugin[]): VolumePlugin => ({
  name: "kubernetes.io/persistent-volume",
  handles: (volume) => volume.persistentVolumeClaim !== undefined || volume.ephemeral !== undefined,

  async setUp(context, volume) {
    const claimed = await findClaimed(context, volume);
    const plugin = plugins.find((one) => one.handles(claimed.spec));
    const mounted = plugin
      ? await plugin.mount(context, claimed, volume.name)
      : await mountSource(context, claimed.spec, volumePath(context.podDir, this.name, volume.name));
    return { ...mounted, readOnly: mounted.readOnly || (volume.persistentVolumeClaim?.readOnly ?? false) };
  },
  async refresh(context, volume) {
    // Few pods have volumes that need this, and only those are worth reading the claim.
    if (!(await hasFurther(context))) return;
    const claimed = await findClaimed(context, volume);
    await plugins.find((one) => one.handles(claimed.spec))?.refresh?.(context, claimed);
  },
});

/** The volume of a pod's claim. Fails if this node cannot mount it. */
export async function findClaimed(
  { pod, sources }: Pick<VolumeContext, "pod" | "sources">,
  volume: Volume,
): Promise<ClaimedVolume> {
  const name = volume.persistentVolumeClaim?.claimName ?? `${pod.metadata.name}-${volume.name}`;
  const claimed = await sources.claimedVolume(pod, name);
  if (claimed.spec.volumeMode !== "Block") return claimed;
  throw new Error(`PersistentVolume ${claimed.name} has volumeMode Block, and this node only mounts file systems`);
}

/** Whether the pod has volumes of a CSI driver. */
const hasFurther = ({ podDir }: VolumeContext): Promise<boolean> =>
  isThere(volumePath(podDir, "kubernetes.io/csi", ""));

async function mountSource(context: VolumeContext, source: PersistentSource, path: string): Promise<MountedVolume> {
  if (source.hostPath) {
    await ensureHostPath(source.hostPath);
    return { path: source.hostPath.path, readOnly: false };
  }
  if (source.nfs) return await mountNfs(source.nfs, { path, options: source.mountOptions ?? [] });
  if (source.local) return await mountLocal(context, { ...source, local: source.local }, path);
  throw new Error("no volume plugin matched");
}

type LocalSource = PersistentSource & Required<Pick<PersistentSource, "local">>;

/** A directory or disk of this node. A disk is mounted, and formatted first if it never was. */
async function mountLocal(context: VolumeContext, source: LocalSource, path: string): Promise<MountedVolume> {
  const isDisk = (await stat(source.local.path)).isBlockDevice();
  if (isDisk) await mountDisk(source, path);
  const mounted = isDisk ? path : source.local.path;
  const { fsGroup: group, fsGroupChangePolicy: policy = "Always" } = context.pod.spec.securityContext ?? {};
  if (group !== undefined && context.isNew) await giveToGroup(mounted, { group, policy });
  return { path: mounted, readOnly: false };
}

async function mountDisk({ local, mountOptions = [] }: LocalSource, path: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o750 });
  if (await hasOwnFilesystem(path)) return;
  const type = filesystemType(local.fsType || "ext4");
  if (!(await isFormatted(local.path))) await runCommand(`mkfs.${type}`, [], { operands: [local.path] });
  await mount({ type, source: local.path, target: path, options: mountOptions });
}

/** `blkid` exits with 2 if it finds no file system or partition. */
async function isFormatted(device: string): Promise<boolean> {
  try {
    await runCommand("blkid", ["--probe"], { operands: [device] });
    return true;
  } catch (error) {
    if (error instanceof CommandError && error.exitCode === 2) return false;
    throw error;
  }
}
