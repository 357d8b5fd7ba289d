import { chmod, mkdir, readlink } from "node:fs/promises";
import { errorCode, isGone } from "#lib/text/error-code.ts";
import { type Name, Place } from "./place.ts";

/** More links than this on one path are a loop: the kernel's own limit. */
const maxLinks = 40;
/** Every level of the path is held open. */
const maxDepth = 256;

export interface OpenBelowOptions {
  /** Makes the directories that are missing, with the mode of the root. */
  readonly makeMissing?: boolean;
}

/** A path that does not stay below its root. */
export class LeadsOut extends Error {
  override readonly name = "LeadsOut";
}

/**
 * Opens a path below a directory in which others may replace directories by links at any moment. The path is walked
 * name by name, each opened from the one before. Links are followed as long as they stay below the root.
 */
export async function openBelow(rootPath: string, path: string, options: OpenBelowOptions = {}): Promise<Place> {
  const root = await Place.open(rootPath);
  await using walk = new Walk(root, await readlink(root.path));
  if (path.startsWith("/")) throw new LeadsOut(`${path} is not a relative path`);
  if (path.length > maxLength) throw new LeadsOut(`a path of ${path.length} characters is too long`);
  const todo = partsOf(path);
  for (let part = todo.shift(); part !== undefined; part = todo.shift()) {
    if (part === "..") await walk.up(path);
    else {
      const target = await walk.enter(Buffer.from(part), options);
      if (target !== undefined) todo.unshift(...(await walk.partsOfLink(target, path)));
    }
  }
  return walk.take();
}

/** The kernel's limit, which it already enforces for links. */
const maxLength = 4096;
const partsOf = (path: string): string[] => path.split("/").filter((part) => part !== "" && part !== ".");

/** The directories on the path, all open, so that the `..` of a link leads to where it led when we came. */
class Walk implements AsyncDisposable {
  readonly #way: Place[];
  readonly #rootPath: string;
  #links = 0;

  constructor(root: Place, rootPath: string) {
    this.#way = [root];
    this.#rootPath = rootPath;
  }

  get #at(): Place {
    const place = this.#way.at(-1);
    if (!place) throw new Error("the walk is over");
    return place;
  }

  take(): Place {
    const place = this.#at;
    this.#way.pop();
    return place;
  }

  async up(path: string): Promise<void> {
    if (this.#way.length === 1) throw new LeadsOut(`${path} leads out of the volume`);
    await this.take()[Symbol.asyncDispose]();
  }

  /** Descends one level. A link is not entered; its target is returned instead. */
  async enter(name: Name, { makeMissing }: OpenBelowOptions): Promise<string | undefined> {
    if (this.#way.length > maxDepth) throw new LeadsOut(`more than ${maxDepth} directories deep`);
    const at = this.#at;
    const next = await at.enter(name).catch(async (error: unknown) => {
      if (!makeMissing || errorCode(error) !== "ENOENT") throw error;
      if (this.#links > 0) throw new LeadsOut("it leads through a link to nowhere");
      return await this.#make(name);
    });
    this.#way.push(next);
    if (!(await next.stat()).isSymbolicLink()) return undefined;
    await this.take()[Symbol.asyncDispose]();
    return await at.linkTarget(name);
  }

  async partsOfLink(target: string, path: string): Promise<string[]> {
    if (++this.#links > maxLinks) throw new LeadsOut(`${path} leads through too many links`);
    if (!target.startsWith("/")) return partsOf(target);
    const root = this.#rootPath;
    if (target !== root && !target.startsWith(`${root}/`)) {
      throw new LeadsOut(`${path} leads out of the volume, to ${target}`);
    }
    while (this.#way.length > 1) await this.up(path);
    return partsOf(target.slice(root.length));
  }

  async #make(name: Name): Promise<Place> {
    const { mode } = (await this.#way[0]?.stat()) ?? { mode: 0o755 };
    await mkdir(this.#at.pathTo(name), { mode: mode & 0o777 });
    const made = await this.#at.enter(name);
    // Separate from mkdir, because the umask would remove bits there.
    if ((await made.stat()).isDirectory()) await chmod(made.path, mode & 0o7777);
    return made;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const place of this.#way) await place[Symbol.asyncDispose]();
  }
}

export interface ReadOptions {
  readonly maxBytes: number;
  /** Default `start`, where a larger file is refused. With `end`, the last `maxBytes` are read. */
  readonly from?: "start" | "end";
}

/** Reads a regular file. Anything else is refused, because opening a FIFO or a device may block for ever. */
export async function readRegularFile(place: Place, { maxBytes, from = "start" }: ReadOptions): Promise<Buffer> {
  const stats = await place.stat();
  if (!stats.isFile()) throw new Error("not a regular file");
  if (from === "start" && stats.size > maxBytes) throw new Error(`larger than ${maxBytes} bytes`);
  await using file = await place.content();
  const length = Math.min(stats.size, maxBytes);
  const start = from === "end" ? stats.size - length : 0;
  const buffer = Buffer.alloc(length);
  let filled = 0;
  while (filled < length) {
    const { bytesRead } = await file.read(buffer, filled, length - filled, start + filled);
    if (bytesRead === 0) break; // It became shorter.
    filled += bytesRead;
  }
  return buffer.subarray(0, filled);
}

/** Reads a regular file at a path that only we can change; undefined if it does not exist. */
export async function readOwnFile(path: string, options: ReadOptions): Promise<Buffer | undefined> {
  try {
    await using place = await Place.open(path);
    return await readRegularFile(place, options);
  } catch (error) {
    if (isGone(error)) return undefined;
    throw error;
  }
}
