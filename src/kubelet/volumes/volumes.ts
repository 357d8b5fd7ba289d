import { mkdir, readdir, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import type { Volume } from "#api/core/volume/volume.ts";
import { isThere } from "#lib/fs/is-there.ts";
import { mountsUnder, unmountUnder } from "#lib/fs/mounts.ts";
import { removeTree } from "#lib/fs/remove-tree.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { claimVolume, type PersistentPlugin } from "./claim.ts";
import { emptyDirVolume } from "./empty-dir.ts";
import { hostPathVolume } from "./host-path.ts";
import { nfsVolume } from "./nfs.ts";
import { ClaimError, type MountedVolume, type VolumeContext, type VolumePlugin, volumePath } from "./plugin.ts";
import { configMapVolume, downwardApiVolume, projectedVolume, secretVolume } from "./written/written-volumes.ts";

/** Kinds of volumes that need other programs on the node. */
export interface FurtherPlugins {
  readonly volumes?: readonly VolumePlugin[];
  readonly persistent?: readonly PersistentPlugin[];
}

export const createVolumePlugins = ({
  volumes = [],
  persistent = [],
}: FurtherPlugins = {}): readonly VolumePlugin[] => [
  emptyDirVolume,
  hostPathVolume,
  configMapVolume,
  secretVolume,
  downwardApiVolume,
  projectedVolume,
  nfsVolume,
  claimVolume(persistent),
  ...volumes,
];

export function pluginFor(plugins: readonly VolumePlugin[], volume: Volume): VolumePlugin {
  const plugin = plugins.find((one) => one.handles(volume));
  if (!plugin) throw new Error("no volume plugin matched");
  return plugin;
}

/** A volume of a pod that could not be mounted. */
export class VolumeError extends Error {
  override readonly name = "VolumeError";
  readonly volume: string;

  constructor(volume: string, cause: unknown) {
    super(cause instanceof ClaimError ? notProcessed(volume, cause) : notSetUp(volume, cause), { cause });
    this.volume = volume;
  }
}

const notSetUp = (volume: string, cause: unknown): string =>
  `MountVolume.SetUp failed for volume "${volume}" : ${messageOf(cause)}`;
const notProcessed = (volume: string, { message }: ClaimError): string =>
  `Unable to attach or mount volumes: unmounted volumes=[${volume}], unattached volumes=[], failed to process volumes=[${volume}]: ${message}`;

/** The context of a pod's volumes; whether a volume is new is determined for each. */
export type PodContext = Omit<VolumeContext, "isNew">;

/** Sets up a volume of a pod. A file beside the volumes records this for the next kubelet. */
export async function setUpVolume(
  plugins: readonly VolumePlugin[],
  context: PodContext,
  volume: Volume,
): Promise<MountedVolume> {
  const mark = `${context.podDir}/volumes-set-up/${volume.name}`;
  try {
    const isNew = !(await isThere(mark));
    const mounted = await pluginFor(plugins, volume).setUp({ ...context, isNew }, volume);
    if (isNew) {
      await mkdir(dirname(mark), { recursive: true, mode: 0o750 });
      await writeFile(mark, "");
    }
    return mounted;
  } catch (error) {
    throw new VolumeError(volume.name, error);
  }
}

/** Updates a volume that shows objects of the API, and does nothing for all others. */
export async function refreshVolume(
  plugins: readonly VolumePlugin[],
  context: PodContext,
  volume: Volume,
): Promise<void> {
  try {
    await pluginFor(plugins, volume).refresh?.({ ...context, isNew: false }, volume);
  } catch (error) {
    throw new VolumeError(volume.name, error);
  }
}

/** Lets the plugins undo what they did for the volumes in a pod's directory. */
export async function unmountVolumes(plugins: readonly VolumePlugin[], podDir: string): Promise<void> {
  for (const plugin of plugins) {
    if (!plugin.unmount) continue;
    const dir = volumePath(podDir, plugin.name, "");
    const names = await readdir(dir).catch(() => []);
    for (const name of names) await plugin.unmount(`${dir}${name}`);
  }
}

/** Unmounts everything that is below a pod's directories, then removes them. */
export async function removePodDirs(directories: readonly string[]): Promise<void> {
  await unmountUnder(directories, "strict");
  const left = await mountsUnder(directories);
  // What is still mounted may be somebody's data: a directory too many is better than lost data.
  if (left.length > 0) throw new Error(`still mounted: ${left.join(", ")}`);
  await Promise.all(directories.map((dir) => removeTree(dir)));
}
