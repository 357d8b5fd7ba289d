import type { Stats } from "node:fs";
import { chmod, chown } from "node:fs/promises";
import { allContainers } from "#api/core/pod/pod-containers.ts";
import type { Pod } from "#api/core/pod.ts";
import { Place } from "#lib/fs/place.ts";
import { walkBelow } from "#lib/fs/walk.ts";

export interface Ownership {
  readonly group: number;
  /** `OnRootMismatch` skips a volume whose top directory already has the right owner and mode. */
  readonly policy: "Always" | "OnRootMismatch";
}

/**
 * Gives everything in a volume to the pod's group, so that its containers can use it whichever user they run as. Other
 * pods may write to the volume meanwhile, so every file is changed by its descriptor and never by its path.
 */
export async function giveToGroup(root: string, { group, policy }: Ownership): Promise<void> {
  await using place = await Place.open(root);
  const stats = await place.stat();
  if (policy === "OnRootMismatch" && isGiven(stats, group)) return;
  if (stats.isDirectory()) await walkBelow(place, (below, found) => give(below, found, group));
  // The top directory comes last: if it is right, everything below it is.
  await give(place, stats, group);
}

const modes = { file: 0o660, directory: 0o2770 };
const bitsFor = (stats: Stats): number => (stats.isDirectory() ? modes.directory : modes.file);

const isGiven = (stats: Stats, group: number): boolean =>
  stats.isDirectory() && stats.gid === group && (stats.mode & modes.directory) === modes.directory;

async function give(place: Place, stats: Stats, group: number): Promise<void> {
  await chown(place.path, stats.uid, group);
  if (!stats.isSymbolicLink()) await chmod(place.path, (stats.mode & 0o7777) | bitsFor(stats));
}

/** The user of every container of the pod, if all of them declare the same one. */
export function commonUser({ spec }: Pod): number | undefined {
  const users = new Set(
    allContainers(spec).map((container) => container.securityContext?.runAsUser ?? spec.securityContext?.runAsUser),
  );
  const [user] = users;
  return users.size === 1 ? user : undefined;
}
