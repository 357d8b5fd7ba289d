import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { type FileHandle, open, rename, rm } from "node:fs/promises";
import { createInterface } from "node:readline";
import { errorCode } from "#lib/text/error-code.ts";
import { type Entry } from "./store.ts";

/**
 * A backup is a text file with one JSON value a line: what it is, every entry, and a checksum of everything before.
 *
 *     {"orlopBackup":1,"revision":1234,"at":"2026-01-02T03:04:05.000Z"}
 *     {"key":"/registry/…","revision":17,"created":17,"value":"<base64>"}
 *     {"entries":1,"sha256":"…"}
 */
const formatVersion = 1;

/** The file is not a whole backup; the message says why. */
export class BackupError extends Error {
  override readonly name = "BackupError";
}

export interface BackupHead {
  /** The state is that of this revision. */
  readonly revision: number;
  readonly at: string;
}

/** Writes all of the file or none of it. Only this user can read it, because it contains secrets. Returns the number of entries. */
export async function writeBackup(path: string, head: BackupHead, entries: AsyncIterable<Entry>): Promise<number> {
  const temporary = `${path}.new`;
  try {
    // A file or link that somebody else left there would give the secrets away.
    await rm(temporary, { force: true });
    await using file = await open(temporary, "wx", 0o600);
    const count = await writeLines(file, head, entries);
    await file.sync();
    await rename(temporary, path);
    return count;
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => {});
    throw faultOf(error, `cannot write ${path}`, "choose a file in a directory where this user may write");
  }
}

async function writeLines(file: FileHandle, head: BackupHead, entries: AsyncIterable<Entry>): Promise<number> {
  const hash = createHash("sha256");
  let count = 0;
  const write = async (value: object): Promise<void> => {
    const line = `${JSON.stringify(value)}\n`;
    hash.update(line);
    // Unlike write, this goes on after a part was written, so a disk that is nearly full is an error.
    await file.appendFile(line);
  };
  await write({ orlopBackup: formatVersion, ...head });
  for await (const { key, revision, created, value } of entries) {
    await write({ key, revision, created, value: Buffer.from(value).toString("base64") });
    count++;
  }
  await file.appendFile(`${JSON.stringify({ entries: count, sha256: hash.digest("hex") })}\n`);
  return count;
}

const fileCodes: ReadonlySet<unknown> = new Set(["EISDIR", "ENOSPC", "EDQUOT", "EFBIG", "EIO"]);

/** A fault of the file system is for the user to mend; any other error stays what it is. */
function faultOf(error: unknown, what: string, advice: string): unknown {
  const code = errorCode(error);
  // Entries may come over a connection, whose faults have neither a path nor these codes.
  const isOfFile = error instanceof Error && "syscall" in error && ("path" in error || fileCodes.has(code));
  return isOfFile ? new BackupError(`${what} (${code}): ${advice}`, { cause: error }) : error;
}

/** Reads the whole file once to verify it. Throws BackupError if anything is missing or different. */
export async function checkBackup(path: string): Promise<BackupHead & { readonly entries: number }> {
  let head: BackupHead | undefined;
  let entries = 0;
  for await (const part of partsOf(path)) {
    if (part.type === "head") head = part.head;
    if (part.type === "entry") entries++;
  }
  if (!head) throw new BackupError(`${path} is not a backup of Orlop`);
  return { ...head, entries };
}

/** The entries of a file that was checked. */
export async function* readBackup(path: string): AsyncGenerator<Entry, void> {
  for await (const part of partsOf(path)) if (part.type === "entry") yield part.entry;
}

type Part =
  | { readonly type: "head"; readonly head: BackupHead }
  | { readonly type: "entry"; readonly entry: Entry }
  | { readonly type: "end" };

async function* linesOf(path: string): AsyncGenerator<string, void> {
  try {
    yield* createInterface({ input: createReadStream(path), crlfDelay: Number.POSITIVE_INFINITY });
  } catch (error) {
    throw faultOf(error, `cannot read ${path}`, "check its name, and that this user may read it");
  }
}

async function* partsOf(path: string): AsyncGenerator<Part, void> {
  const hash = createHash("sha256");
  let count = 0;
  let isWhole = false;
  for await (const line of linesOf(path)) {
    if (isWhole) throw new BackupError(`${path} continues after its end`);
    const value = parseLine(path, line);
    if (count === 0) yield { type: "head", head: headOf(path, value) };
    else if ("sha256" in value) {
      if (value.entries !== count - 1 || value.sha256 !== hash.digest("hex")) {
        throw new BackupError(`${path} is damaged: its checksum differs`);
      }
      isWhole = true;
      continue;
    } else yield { type: "entry", entry: entryOf(path, value) };
    hash.update(`${line}\n`);
    count++;
  }
  if (!isWhole) throw new BackupError(count === 0 ? `${path} is not a backup of Orlop` : `${path} is incomplete`);
  yield { type: "end" };
}

function parseLine(path: string, line: string): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    throw new BackupError(`${path} is damaged, or not a backup of Orlop`);
  }
  if (typeof value !== "object" || value === null) throw new BackupError(`${path} is not a backup of Orlop`);
  return value as Record<string, unknown>;
}

const isRevision = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) > 0;

function headOf(path: string, { orlopBackup, revision, at }: Readonly<Record<string, unknown>>): BackupHead {
  if (typeof orlopBackup !== "number" || !isRevision(revision))
    throw new BackupError(`${path} is not a backup of Orlop`);
  if (orlopBackup > formatVersion) throw new BackupError(`${path} was written by a newer Orlop: upgrade Orlop`);
  return { revision, at: String(at) };
}

function entryOf(path: string, { key, revision, created, value }: Readonly<Record<string, unknown>>): Entry {
  const isEntry = typeof key === "string" && typeof value === "string" && isRevision(revision) && isRevision(created);
  if (!isEntry) throw new BackupError(`${path} is damaged: an entry is incomplete`);
  return { key, revision, created, value: Buffer.from(value, "base64") };
}
