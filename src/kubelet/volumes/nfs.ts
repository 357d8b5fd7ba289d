import { mkdir } from "node:fs/promises";
import { isIP } from "node:net";
import type { NFSVolumeSource } from "#api/core/volume/volume.ts";
import { hasOwnFilesystem, mount } from "#lib/fs/mounts.ts";
import { type MountedVolume, type VolumePlugin, volumePath } from "./plugin.ts";

/** A directory of an NFS server. The node needs the `mount.nfs` program. */
export const nfsVolume: VolumePlugin = {
  name: "kubernetes.io/nfs",
  handles: (volume) => volume.nfs !== undefined,

  async setUp(context, volume) {
    if (!volume.nfs) throw new Error("the volume has no nfs");
    return await mountNfs(volume.nfs, { path: volumePath(context.podDir, this.name, volume.name), options: [] });
  },
};

export async function mountNfs(
  { server, path: exported, readOnly = false }: NFSVolumeSource,
  { path, options }: { path: string; options: readonly string[] },
): Promise<MountedVolume> {
  const source = nfsSource(server, exported);
  await mkdir(path, { recursive: true, mode: 0o750 });
  const request = { type: "nfs", source, target: path };
  if (!(await hasOwnFilesystem(path))) await mount({ ...request, options: [...(readOnly ? ["ro"] : []), ...options] });
  return { path, readOnly };
}

/** `server:/path` for the mount program. Anything but a host name or an address is refused. */
export const nfsSource = (server: string, exported: string): string => `${hostOf(server)}:${directoryOf(exported)}`;

function hostOf(server: string): string {
  const address = server.startsWith("[") && server.endsWith("]") ? server.slice(1, -1) : server;
  if (isIP(address) === 6) return `[${address}]`;
  if (isIP(server) !== 4 && !/^[a-z0-9][a-z0-9._-]{0,252}$/i.test(server)) {
    throw new Error(`invalid NFS server ${JSON.stringify(server)}: not a host name or IP address`);
  }
  return server;
}

function directoryOf(exported: string): string {
  if (!exported.startsWith("/") || exported.includes("\0") || exported.length > 4096) {
    throw new Error(`invalid NFS path ${JSON.stringify(exported.slice(0, 100))}: not an absolute path`);
  }
  return exported;
}
