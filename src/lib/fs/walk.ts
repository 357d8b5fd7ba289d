import type { Stats } from "node:fs";
import { type Name, orGone, type Place } from "./place.ts";

export type Visit = (place: Place, stats: Stats) => Promise<void>;

/** A directory below the root, by the names on the path to it. */
interface Way {
  readonly above: Way | undefined;
  readonly name: Name;
  readonly depth: number;
}

/** Each level holds two descriptors. Deeper directories are opened again from the root. */
const maxOpenLevels = 32;

/**
 * Visits everything below a directory, in no particular order, while others may change it: no link is followed, nothing
 * outside is reached, and entries that disappear meanwhile are skipped. Stays on the root's file system.
 */
export async function walkBelow(root: Place, visit: Visit, signal?: AbortSignal): Promise<void> {
  const { dev } = await root.stat();
  const later: Way[] = [];
  const walk = async (dir: Place, way: Way | undefined, openLevels: number): Promise<void> => {
    for await (const name of dir.names()) {
      signal?.throwIfAborted();
      await using place = await orGone(dir.enter(name));
      if (!place) continue;
      const stats = await place.stat();
      await visit(place, stats);
      if (!stats.isDirectory() || stats.dev !== dev) continue;
      const below = { above: way, name, depth: (way?.depth ?? 0) + 1 };
      if (openLevels < maxOpenLevels) await walk(place, below, openLevels + 1);
      else later.push(below);
    }
  };
  await walk(root, undefined, 1);
  for (let way = later.pop(); way; way = later.pop()) {
    await using place = await follow(root, way);
    if (place) await walk(place, way, 1);
  }
}

/** Returns undefined if the path has changed. */
async function follow(root: Place, way: Way): Promise<Place | undefined> {
  const names: Name[] = [];
  for (let step: Way | undefined = way; step; step = step.above) names.push(step.name);
  let at: Place | undefined;
  for (const name of names.reverse()) {
    const next: Place | undefined = await orGone((at ?? root).enter(name));
    await at?.[Symbol.asyncDispose]();
    if (!next) return undefined;
    at = next;
    if ((await next.stat()).isDirectory()) continue;
    await next[Symbol.asyncDispose]();
    return undefined;
  }
  return at;
}
