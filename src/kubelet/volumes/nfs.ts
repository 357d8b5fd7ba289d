import { mkdir } from "node:fs/promises";
import type { NFSVolumeSource } from "#api/core/volume.ts";
import { isMountPoint, mount } from "#lib/mounts.ts";
import { type MountedVolume, type VolumePlugin, volumePath } from "./plugin.ts";

/** A directory of an NFS server. The node needs the `mount.nfs` program. */
export const nfsVolume: VolumePlugin = {
  name: "kubernetes.io/nfs",
  handles: (volume) => volume.nfs !== undefined,

  async mount(context, volume) {
    if (!volume.nfs) throw new Error("the volume has no nfs");
    return await mountNfs(volume.nfs, { path: volumePath(context.podDir, this.name, volume.name), options: [] });
  },
};

export async function mountNfs(
  { server, path: exported, readOnly = false }: NFSVolumeSource,
  { path, options }: { path: string; options: readonly string[] },
): Promise<MountedVolume> {
  await mkdir(path, { recursive: true, mode: 0o750 });
  // An address of IPv6 needs brackets before the path.
  const host = server.includes(":") && !server.startsWith("[") ? `[${server}]` : server;
  const request = { type: "nfs", source: `${host}:${exported}`, target: path };
  if (!(await isMountPoint(path))) await mount({ ...request, options: [...(readOnly ? ["ro"] : []), ...options] });
  return { path, readOnly };
}
