import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import path from "node:path";
import v8 from "node:v8";
import { crc32 } from "node:zlib";
import { isOurs } from "./places.ts";

const checksumBytes = 4;
/** Each set of V8's flags has its own file, and each bundle its own folder. Old ones must not fill the disk. */
const maxFiles = 12;
const maxFolders = 4;

/** What V8 compiled of a bundle in an earlier process. V8 itself checks only its version, its flags and the source's length. */
export class CompiledCode {
  readonly #folder: string;
  readonly #source: string;
  readonly #name: string;
  /** Whether what was read comes from a process with the same purpose. */
  isOwn = false;

  constructor(folder: string, purpose: string, source: string) {
    this.#folder = folder;
    this.#source = source;
    this.#name = `${purpose}${this.#ending}`;
  }

  /** For this version of V8 and its flags. */
  get #ending(): string {
    return `-${v8.cachedDataVersionTag().toString(16)}.code`;
  }

  /** What a process with another purpose compiled is better than nothing. */
  read(): Buffer | undefined {
    const own = this.#readFile(this.#name);
    this.isOwn = own !== undefined;
    if (own) return own;
    const other = this.#files().find((name) => name.endsWith(this.#ending));
    return other === undefined ? undefined : this.#readFile(other);
  }

  /** Does nothing if the folder cannot be written: then every process compiles for itself. */
  write(code: Buffer): void {
    const temporary = `${this.#folder}/${this.#name}.${process.pid}`;
    try {
      mkdirSync(this.#folder, { recursive: true });
      const checksum = Buffer.alloc(checksumBytes);
      checksum.writeUInt32LE(crc32(code));
      writeDurably(temporary, [checksum, code]);
      renameSync(temporary, `${this.#folder}/${this.#name}`);
      removeOldest(this.#folder, maxFiles);
      removeOldest(path.dirname(this.#folder), maxFolders);
    } catch {
      removeIfThere(temporary);
    }
  }

  #readFile(name: string): Buffer | undefined {
    let bytes: Buffer;
    try {
      const files = [this.#folder, `${this.#folder}/${name}`];
      if (!files.every((file) => isOurs(file, this.#source))) return undefined;
      bytes = readFileSync(`${this.#folder}/${name}`);
    } catch {
      return undefined;
    }
    const code = bytes.subarray(checksumBytes);
    // Half-written or changed code would crash V8.
    return bytes.length > checksumBytes && crc32(code) === bytes.readUInt32LE(0) ? code : undefined;
  }

  #files(): string[] {
    try {
      return readdirSync(this.#folder).filter((name) => name.endsWith(".code"));
    } catch {
      return [];
    }
  }
}

function removeIfThere(file: string): void {
  try {
    rmSync(file, { force: true });
  } catch {
    // What cannot be written cannot be removed either.
  }
}

function removeOldest(folder: string, kept: number): void {
  const entries = readdirSync(folder).map((name) => path.join(folder, name));
  const byAge = entries.map((entry) => ({ entry, ms: statSync(entry).mtimeMs })).sort((a, b) => b.ms - a.ms);
  for (const { entry } of byAge.slice(kept)) rmSync(entry, { recursive: true, force: true });
}

function writeDurably(path: string, parts: readonly Buffer[]): void {
  const file = openSync(path, "w", 0o644);
  try {
    for (const part of parts) for (let at = 0; at < part.length; ) at += writeSync(file, part, at);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
