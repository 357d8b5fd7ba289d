import { constants, type Stats } from "node:fs";
import { type FileHandle, open, opendir, readlink } from "node:fs/promises";
import { isGone } from "#lib/text/error-code.ts";

/**
 * A file or directory that is held by a descriptor. Somebody may rename it or put a link where it was: this stays what
 * was opened. Node has no `openat`, so children are opened as `/proc/self/fd/<descriptor>/<name>`.
 */
export class Place implements AsyncDisposable {
  readonly #handle: FileHandle;

  private constructor(handle: FileHandle) {
    this.#handle = handle;
  }

  /** Follows links in the path, so the path must be one that only we can change. */
  static async open(path: string): Promise<Place> {
    return new Place(await open(path, placeOnly));
  }

  /** A path to exactly this place, for calls that take paths. It is good for as long as the place is open. */
  get path(): string {
    return `/proc/self/fd/${this.#handle.fd}`;
  }
  get descriptor(): number {
    return this.#handle.fd;
  }
  stat(): Promise<Stats> {
    return this.#handle.stat();
  }

  /** A path to a name in this directory. Only calls that do not follow a link at the end of a path may use it. */
  pathTo(name: Name): Buffer {
    const text = name.toString("latin1");
    if (text === "" || text === "." || text === ".." || /[/\0]/.test(text)) {
      throw new Error(`not the name of a file: ${JSON.stringify(name.toString())}`);
    }
    return Buffer.concat([Buffer.from(`${this.path}/`), name]);
  }

  /** Opens what has this name now. A link is opened as itself, and nothing is read or waited for. */
  async enter(name: Name): Promise<Place> {
    return new Place(await open(this.pathTo(name), placeOnly | constants.O_NOFOLLOW));
  }

  /** Opens the content. Does not wait for the other end of a FIFO; the caller has checked what the place is. */
  async content(): Promise<FileHandle> {
    return await open(this.path, constants.O_RDONLY | constants.O_NONBLOCK);
  }

  /** The names in this directory, a few at a time however many there are. */
  async *names(): AsyncGenerator<Name, void> {
    for await (const entry of await opendir(this.path, { encoding: "latin1" })) yield Buffer.from(entry.name, "latin1");
  }

  /** Where a link in this directory leads. */
  linkTarget(name: Name): Promise<string> {
    return readlink(this.pathTo(name));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#handle.close();
  }
}

/** As the file system has it: a name need not be text. */
export type Name = Buffer;

/** O_PATH: opens a place without its content. It has this value on every architecture that Node runs on. */
const placeOnly = 0o10000000;

/** Undefined if the place is not there. */
export async function orGone(opening: Promise<Place>): Promise<Place | undefined> {
  try {
    return await opening;
  } catch (error) {
    if (isGone(error)) return undefined;
    throw error;
  }
}
