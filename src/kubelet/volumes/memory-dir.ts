import { chmod, mkdir } from "node:fs/promises";
import { isInMemory, mount } from "#lib/fs/mounts.ts";

/**
 * A directory whose content never reaches a disk, for secrets and tokens. One file system in memory serves all pods
 * of the node, so that starting a pod costs no mount; none is made where the directory is in memory already.
 */
export async function ensureMemoryDir(path: string): Promise<void> {
  await mkdir(path, { recursive: true });
  if (!(await isInMemory(path))) await mount({ type: "tmpfs", source: "tmpfs", target: path });
  // Containers see their part by a mount; nobody else on the node needs the way to it.
  await chmod(path, 0o700);
}
