import { type Stats } from "node:fs";
import { open, stat } from "node:fs/promises";
import type { HostPathVolumeSource } from "#api/core/volume/volume.ts";
import { makeDirectory } from "#lib/fs/make-directory.ts";
import { errorCode } from "#lib/text/error-code.ts";
import type { VolumePlugin } from "./plugin.ts";

/** A file or directory of the node itself, checked or created according to its type. */
export const hostPathVolume: VolumePlugin = {
  name: "kubernetes.io/host-path",
  handles: (volume) => volume.hostPath !== undefined,

  async setUp(_context, { hostPath }) {
    if (!hostPath) throw new Error("the volume has no hostPath");
    if (hostPath.path.split("/").includes("..")) {
      throw new Error(`invalid HostPath \`${hostPath.path}\`: must not contain '..'`);
    }
    await ensureHostPath(hostPath);
    return { path: hostPath.path, readOnly: false };
  },
};

export async function ensureHostPath({ path, type }: HostPathVolumeSource): Promise<void> {
  if (type === "") return;
  const found = await look(path);
  if (!found && type === "DirectoryOrCreate") await makeDirectory(path, { mode: 0o755 });
  else if (!found && type === "FileOrCreate") await (await open(path, "wx", 0o644)).close();
  else {
    const { is, called } = checks[type];
    if (!found || !is(found)) throw new Error(`hostPath type check failed: ${path} is not a ${called}`);
  }
}

const directory = { is: (found: Stats) => found.isDirectory(), called: "directory" };
const file = { is: (found: Stats) => found.isFile(), called: "file" };
const checks = {
  Directory: directory,
  DirectoryOrCreate: directory,
  File: file,
  FileOrCreate: file,
  Socket: { is: (found: Stats) => found.isSocket(), called: "socket file" },
  CharDevice: { is: (found: Stats) => found.isCharacterDevice(), called: "character device" },
  BlockDevice: { is: (found: Stats) => found.isBlockDevice(), called: "block device" },
} as const;

async function look(path: string): Promise<Stats | undefined> {
  try {
    return await stat(path);
  } catch (error) {
    if (errorCode(error) === "ENOENT") return undefined;
    throw error;
  }
}
