import { constants, type Stats } from "node:fs";
import { type FileHandle, open, opendir, readlink } from "node:fs/promises";
import { isGone } from "#lib/text/error-code.ts";

/**
 * A file or directory held by a descriptor. Even if somebody renames it or puts a link in its place, this stays what
 * was opened. Node has no `openat`, so children are opened as `/proc/self/fd/<descriptor>/<name>`.
 */
export class Place implements AsyncDisposable {
  readonly #handle: FileHandle;

  private constructor(handle: FileHandle) {
    this.#handle = handle;
  }

  /** Follows links in the path, so only we may be able to change that path. */
  static async open(path: string): Promise<Place> {
    return new Place(await open(path, placeOnly));
  }

  /** A path to exactly this place, for calls that take paths. It is valid as long as the place is open. */
  get path(): string {
    return `/proc/self/fd/${this.#handle.fd}`;
  }
  get descriptor(): number {
    return this.#handle.fd;
  }
  stat(): Promise<Stats> {
    return this.#handle.stat();
  }

  /** A path to a name in this directory. Use it only with calls that do not follow a link at the end of the path. */
  pathTo(name: Name): Buffer {
    const text = name.toString("latin1");
    if (text === "" || text === "." || text === ".." || /[/\0]/.test(text)) {
      throw new Error(`not a file name: ${JSON.stringify(name.toString())}`);
    }
    return Buffer.concat([Buffer.from(`${this.path}/`), name]);
  }

  /** Opens the current entry of this name. A link is opened as itself, and nothing is read or waited for. */
  async enter(name: Name): Promise<Place> {
    return new Place(await open(this.pathTo(name), placeOnly | constants.O_NOFOLLOW));
  }

  /** Opens the content. Does not wait for the other end of a FIFO; the caller has checked the type. */
  async content(): Promise<FileHandle> {
    return await open(this.path, constants.O_RDONLY | constants.O_NONBLOCK);
  }

  /** The names in this directory, read a few at a time. */
  async *names(): AsyncGenerator<Name, void> {
    for await (const entry of await opendir(this.path, { encoding: "latin1" })) yield Buffer.from(entry.name, "latin1");
  }

  /** The target of a link in this directory. */
  linkTarget(name: Name): Promise<string> {
    return readlink(this.pathTo(name));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#handle.close();
  }
}

/** Bytes, because a name need not be valid text. */
export type Name = Buffer;

/** O_PATH: opens a place without its content. The value is the same on every architecture that Node supports. */
const placeOnly = 0o10000000;

/** Returns undefined if the place does not exist. */
export async function orGone(opening: Promise<Place>): Promise<Place | undefined> {
  try {
    return await opening;
  } catch (error) {
    if (isGone(error)) return undefined;
    throw error;
  }
}
