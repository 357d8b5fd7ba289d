import {
  chmod,
  chown,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  rename,
  rm,
  symlink,
  writeFile,
} from "node:fs/promises";
import { dirname } from "node:path";
import { timestamp } from "#lib/clock.ts";

/** One file of a volume whose content we write. */
export interface ProjectedFile {
  readonly content: Uint8Array;
  readonly mode: number;
  /** Its owner, if not root. */
  readonly user?: number;
}
/** By path in the volume. */
export type Payload = ReadonlyMap<string, ProjectedFile>;

export interface WriteOptions {
  readonly nowMs: number;
  /** Sets owners and modes of the whole volume before anybody sees the new content. */
  prepare?(): Promise<void>;
}

/**
 * Replaces the content of a volume in one step: a reader sees all of the old or all of the new.
 *
 *     volume/
 *       user.conf  -> ..data/user.conf
 *       ..data     -> ..2026_01_31_12_00_00.Xy12ab   (this link is what is swapped)
 *       ..2026_01_31_12_00_00.Xy12ab/user.conf
 *
 * Nothing is written if the content is there already. Whatever a crash left behind is cleared the next time.
 */
export async function writeAtomically(dir: string, payload: Payload, options: WriteOptions): Promise<void> {
  for (const path of payload.keys()) assertSafe(path);
  const current = await currentData(dir);
  const held = current === undefined ? undefined : await readTree(`${dir}/${current}`);
  if (current === undefined || held === undefined || !isSame(held, payload)) {
    const fresh = await writeNew(dir, payload, options.nowMs);
    await options.prepare?.();
    await replaceLink(dir, fresh);
    await showFiles(dir, payload);
    await clearOld(dir, fresh);
    return;
  }
  await showFiles(dir, payload);
  await clearOld(dir, current);
}

const dataLink = "..data";
const isNotFound = (error: unknown): boolean => error instanceof Error && "code" in error && error.code === "ENOENT";

function assertSafe(path: string): void {
  const parts = path.split("/");
  const isBad = parts.some((part) => part === "" || part === "." || part === "..") || path.startsWith("..");
  if (isBad) throw new Error(`invalid path in volume: ${JSON.stringify(path)}`);
}

async function currentData(dir: string): Promise<string | undefined> {
  try {
    return await readlink(`${dir}/${dataLink}`);
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

async function readTree(dir: string, prefix = ""): Promise<Map<string, Buffer> | undefined> {
  const entries = await readdir(`${dir}/${prefix}`, { withFileTypes: true }).catch(() => undefined);
  if (entries === undefined) return undefined;
  const files = new Map<string, Buffer>();
  for (const entry of entries) {
    const path = `${prefix}${entry.name}`;
    if (!entry.isDirectory()) files.set(path, await readFile(`${dir}/${path}`));
    else for (const [inner, content] of (await readTree(dir, `${path}/`)) ?? []) files.set(inner, content);
  }
  return files;
}

function isSame(held: ReadonlyMap<string, Buffer>, payload: Payload): boolean {
  if (held.size !== payload.size) return false;
  for (const [path, { content }] of payload) if (!held.get(path)?.equals(content)) return false;
  return true;
}

/** Writes the content beside the old and gives the name of its directory. */
async function writeNew(dir: string, payload: Payload, nowMs: number): Promise<string> {
  const stamp = timestamp(nowMs).replace(/[-T:]/g, "_").replace("Z", "");
  const fresh = await mkdtemp(`${dir}/..${stamp}.`);
  await chmod(fresh, 0o755);
  for (const [path, { content, mode, user }] of payload) {
    const file = `${fresh}/${path}`;
    await makeDirectories(fresh, dirname(path));
    await writeFile(file, content);
    // Apart from writing, since the umask would take bits away.
    await chmod(file, mode);
    if (user !== undefined) await chown(file, user, 0);
  }
  return fresh.slice(dir.length + 1);
}

async function makeDirectories(root: string, path: string): Promise<void> {
  if (path === ".") return;
  await makeDirectories(root, dirname(path));
  await mkdir(`${root}/${path}`, { recursive: true });
  await chmod(`${root}/${path}`, 0o755);
}

async function replaceLink(dir: string, target: string): Promise<void> {
  const draft = `${dir}/${dataLink}_tmp`;
  await rm(draft, { force: true });
  await symlink(target, draft);
  await rename(draft, `${dir}/${dataLink}`);
}

/** Links what the volume has at its top, and unlinks what it no longer has. */
async function showFiles(dir: string, payload: Payload): Promise<void> {
  const wanted = new Set(Array.from(payload.keys(), (path) => path.split("/")[0] ?? path));
  const shown = new Set((await readdir(dir)).filter((name) => !name.startsWith("..")));
  for (const name of wanted) {
    if (!shown.has(name)) await symlink(`${dataLink}/${name}`, `${dir}/${name}`);
  }
  for (const name of shown) {
    if (wanted.has(name)) continue;
    // Other things, such as a mount point of another volume, are not ours.
    if ((await lstat(`${dir}/${name}`)).isSymbolicLink()) await rm(`${dir}/${name}`);
  }
}

async function clearOld(dir: string, current: string): Promise<void> {
  for (const name of await readdir(dir)) {
    const isOld = name.startsWith("..") && name !== current && name !== dataLink;
    if (isOld) await rm(`${dir}/${name}`, { recursive: true, force: true });
  }
}
