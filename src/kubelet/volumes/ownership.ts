import { chmod, lchown, lstat, readdir } from "node:fs/promises";
import type { Pod } from "#api/core/pod.ts";
import { allContainers } from "#api/core/pod-containers.ts";

export interface Ownership {
  readonly group: number;
  readonly readOnly: boolean;
  /** `OnRootMismatch` leaves a volume alone whose top directory is right already. */
  readonly policy: "Always" | "OnRootMismatch";
}

/** Gives everything in a volume to the pod's group, so that its containers can use it whoever they run as. */
export async function giveToGroup(root: string, ownership: Ownership): Promise<void> {
  if (ownership.policy === "OnRootMismatch" && (await isGiven(root, ownership))) return;
  await give(root, ownership);
}

const modes = { write: 0o660, read: 0o440, enter: 0o110, inheritGroup: 0o2000 };
const bitsFor = ({ readOnly }: Ownership, isDirectory: boolean): number =>
  (readOnly ? modes.read : modes.write) | (isDirectory ? modes.enter | modes.inheritGroup : 0);

async function isGiven(root: string, ownership: Ownership): Promise<boolean> {
  const stat = await lstat(root);
  const bits = bitsFor(ownership, stat.isDirectory());
  return stat.isDirectory() && stat.gid === ownership.group && (stat.mode & bits) === bits;
}

/** What is inside first: when the top is right, all is. */
async function give(path: string, ownership: Ownership): Promise<void> {
  const stat = await lstat(path);
  if (stat.isDirectory()) {
    for (const name of await readdir(path)) await give(`${path}/${name}`, ownership);
  }
  await lchown(path, stat.uid, ownership.group);
  // The mode of a link would become that of its target.
  if (stat.isSymbolicLink()) return;
  await chmod(path, (stat.mode & 0o7777) | bitsFor(ownership, stat.isDirectory()));
}

/** The user that every container of the pod runs as, if it is the same one and they say so. */
export function commonUser({ spec }: Pod): number | undefined {
  const users = new Set(
    allContainers(spec).map((container) => container.securityContext?.runAsUser ?? spec.securityContext?.runAsUser),
  );
  const [user] = users;
  return users.size === 1 ? user : undefined;
}
