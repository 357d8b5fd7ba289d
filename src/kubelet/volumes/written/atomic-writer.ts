import {
  chmod,
  chown,
  lstat,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  readlink,
  rename,
  rm,
  symlink,
} from "node:fs/promises";
import { dirname } from "node:path";
import { timestamp } from "#lib/async/clock.ts";
import { errorCode } from "#lib/text/error-code.ts";

/** The content of a file, decoded only while it is compared or written, because all files of a pod may be large. */
export interface FileContent {
  readonly text: string;
  readonly encoding: "utf8" | "base64";
}
/** One file of a volume that the kubelet writes. */
export interface ProjectedFile {
  readonly content: FileContent;
  readonly mode: number;
  /** The owner, if it is not root. */
  readonly user?: number;
}
/** By path in the volume. */
export type Payload = ReadonlyMap<string, ProjectedFile>;

export interface WriteOptions {
  readonly nowMs: number;
  /** The group that may read everything, if the pod has one. */
  readonly group?: number | undefined;
}

/**
 * Replaces the content of a volume atomically: a reader sees all of the old or all of the new.
 *
 *     volume/
 *       user.conf  -> ..data/user.conf
 *       ..data     -> ..2026_01_31_12_00_00.Xy12ab   (this link is what is swapped)
 *       ..2026_01_31_12_00_00.Xy12ab/user.conf
 *
 * Nothing is written if the content is already there. The next write clears what a crash left behind.
 */
export async function writeAtomically(dir: string, files: Payload, options: WriteOptions): Promise<void> {
  const payload: Payload = new Map(Array.from(files, ([path, file]) => [normalPath(path), file]));
  const current = await currentData(dir);
  if (current === undefined || !(await holds(`${dir}/${current}`, payload))) {
    const fresh = await writeNew(dir, payload, options);
    await replaceLink(dir, fresh);
    await showFiles(dir, payload);
    await clearOld(dir, fresh);
    return;
  }
  await showFiles(dir, payload);
  await clearOld(dir, current);
}

const dataLink = "..data";

/** Normalises `./conf//a.txt` to `conf/a.txt`. At the top, names that begin with two dots are reserved. */
function normalPath(path: string): string {
  const parts = path.split("/").filter((part) => part !== "" && part !== ".");
  const isBad = path.startsWith("/") || parts.length === 0 || parts.includes("..") || parts[0]?.startsWith("..");
  if (isBad) throw new Error(`invalid path in volume: ${JSON.stringify(path)}`);
  return parts.join("/");
}

async function currentData(dir: string): Promise<string | undefined> {
  try {
    return await readlink(`${dir}/${dataLink}`);
  } catch (error) {
    if (errorCode(error) === "ENOENT") return undefined;
    throw error;
  }
}

const bytesOf = ({ text, encoding }: FileContent): Buffer => Buffer.from(text, encoding);

/** Whether the directory has these files and no others, with this content. */
async function holds(dir: string, payload: Payload): Promise<boolean> {
  const entries = await readdir(dir, { withFileTypes: true, recursive: true }).catch(() => undefined);
  const files = entries?.filter((entry) => !entry.isDirectory());
  if (files?.length !== payload.size) return false;
  for (const [path, { content }] of payload) {
    const file = `${dir}/${path}`;
    const stats = await lstat(file).catch(() => undefined);
    if (!stats?.isFile()) return false;
    const bytes = bytesOf(content);
    if (stats.size !== bytes.length || !(await readFile(file)).equals(bytes)) return false;
  }
  return true;
}

/** Writes the content beside the old one, and returns the name of its directory. */
async function writeNew(dir: string, payload: Payload, { nowMs, group }: WriteOptions): Promise<string> {
  const stamp = timestamp(nowMs).replace(/[-T:]/g, "_").replace("Z", "");
  const fresh = await mkdtemp(`${dir}/..${stamp}.`);
  await openTo(fresh, group);
  const made = new Set(["."]);
  for (const [path, file] of payload) {
    await makeDirectories(fresh, dirname(path), { made, group });
    await writeOne(`${fresh}/${path}`, file, group);
  }
  return fresh.slice(dir.length + 1);
}

async function writeOne(path: string, { content, mode, user = 0 }: ProjectedFile, group?: number): Promise<void> {
  await using file = await open(path, "wx", 0o600);
  await file.writeFile(bytesOf(content));
  await file.chown(user, group ?? 0);
  await file.chmod(group === undefined ? mode : mode | 0o440);
}

interface Made {
  readonly made: Set<string>;
  readonly group: number | undefined;
}

async function makeDirectories(root: string, path: string, { made, group }: Made): Promise<void> {
  if (made.has(path)) return;
  made.add(path);
  await makeDirectories(root, dirname(path), { made, group });
  await mkdir(`${root}/${path}`);
  await openTo(`${root}/${path}`, group);
}

/** Separate from mkdir, because the umask would clear bits. */
async function openTo(dir: string, group: number | undefined): Promise<void> {
  if (group !== undefined) await chown(dir, 0, group);
  await chmod(dir, group === undefined ? 0o755 : 0o2755);
}

async function replaceLink(dir: string, target: string): Promise<void> {
  const draft = `${dir}/${dataLink}_tmp`;
  await rm(draft, { force: true });
  await symlink(target, draft);
  await rename(draft, `${dir}/${dataLink}`);
}

/** Links the top-level entries of the volume, and unlinks those that it no longer has. */
async function showFiles(dir: string, payload: Payload): Promise<void> {
  const wanted = new Set(Array.from(payload.keys(), (path) => path.split("/")[0] ?? path));
  const shown = new Set((await readdir(dir)).filter((name) => !name.startsWith("..")));
  for (const name of wanted) {
    if (!shown.has(name)) await symlink(`${dataLink}/${name}`, `${dir}/${name}`);
  }
  for (const name of shown) {
    if (wanted.has(name)) continue;
    // Anything else, such as a mount point of another volume, is not ours.
    if ((await lstat(`${dir}/${name}`)).isSymbolicLink()) await rm(`${dir}/${name}`);
  }
}

async function clearOld(dir: string, current: string): Promise<void> {
  for (const name of await readdir(dir)) {
    const isOld = name.startsWith("..") && name !== current && name !== dataLink;
    if (isOld) await rm(`${dir}/${name}`, { recursive: true, force: true });
  }
}
