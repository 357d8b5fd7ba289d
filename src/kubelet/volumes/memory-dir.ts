import { chmod, mkdir } from "node:fs/promises";
import { isInMemory, mount } from "#lib/fs/mounts.ts";

/**
 * A directory whose content never reaches a disk, for secrets and tokens. One tmpfs serves all pods of the node, so that
 * starting a pod needs no mount. If the directory is already in memory, no tmpfs is mounted.
 */
export async function ensureMemoryDir(path: string): Promise<void> {
  await mkdir(path, { recursive: true });
  if (!(await isInMemory(path))) await mount({ type: "tmpfs", source: "tmpfs", target: path });
  // Containers see their part through a mount, and nobody else on the node needs access.
  await chmod(path, 0o700);
}
