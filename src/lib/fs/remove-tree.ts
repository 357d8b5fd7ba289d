import { rename, rmdir, unlink } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { errorCode, isGone } from "#lib/text/error-code.ts";
import { type Name, orGone, Place } from "./place.ts";

/** Each level holds two descriptors. Deeper directories are moved up to the root first. */
const maxOpenLevels = 32;

/**
 * Removes a directory or file with everything in it, however long its names and however deep the tree: everything is
 * reached from an open directory, so no path grows. It touches nothing outside and no other mounted file system.
 */
export async function removeTree(path: string): Promise<void> {
  const name = Buffer.from(basename(path));
  await using above = await orGone(Place.open(dirname(path)));
  if (!above || (await unlinkFile(above, name))) return;
  await using root = await orGone(above.enter(name));
  if (!root) return;
  const removal = new Removal(root, (await root.stat()).dev);
  // Directories that were moved up may not have been visited yet. The tree gets less deep each time.
  do await removal.clear(root, 1);
  while (removal.takeMoved() > 0);
  await removeDirectory(above, name);
}

class Removal {
  readonly #root: Place;
  readonly #device: number;
  #count = 0;
  #moved = 0;

  constructor(root: Place, device: number) {
    this.#root = root;
    this.#device = device;
  }

  /** How many directories were moved up to the root since the last call. */
  takeMoved(): number {
    const moved = this.#moved;
    this.#moved = 0;
    return moved;
  }

  async clear(dir: Place, level: number): Promise<void> {
    for await (const name of dir.names()) {
      if (await unlinkFile(dir, name)) continue;
      if (level < maxOpenLevels) await this.#clearBelow(dir, name, level);
      else await this.#moveUp(dir, name);
    }
  }

  async #clearBelow(dir: Place, name: Name, level: number): Promise<void> {
    await using below = await orGone(dir.enter(name));
    if (!below) return;
    const stats = await below.stat();
    if (stats.dev !== this.#device) throw new Error(`another file system is mounted at ${name.toString()}`);
    if (!stats.isDirectory()) return;
    await this.clear(below, level + 1);
    await removeDirectory(dir, name);
  }

  async #moveUp(dir: Place, name: Name): Promise<void> {
    for (;;) {
      try {
        await rename(dir.pathTo(name), this.#root.pathTo(Buffer.from(`.removed-${this.#count++}`)));
        this.#moved++;
        return;
      } catch (error) {
        // The name is taken.
        if (!["ENOTEMPTY", "EEXIST", "ENOTDIR"].includes(String(errorCode(error)))) throw error;
      }
    }
  }
}

/** Returns false for a directory. */
async function unlinkFile(dir: Place, name: Name): Promise<boolean> {
  try {
    await unlink(dir.pathTo(name));
    return true;
  } catch (error) {
    if (isGone(error)) return true;
    if (errorCode(error) === "EISDIR" || errorCode(error) === "EPERM") return false;
    throw error;
  }
}

async function removeDirectory(dir: Place, name: Name): Promise<void> {
  try {
    await rmdir(dir.pathTo(name));
  } catch (error) {
    if (!isGone(error)) throw error;
  }
}
