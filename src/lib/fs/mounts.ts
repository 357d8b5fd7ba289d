import { readFile, stat, statfs } from "node:fs/promises";
import { dirname } from "node:path";
import { runCommand } from "#lib/process/processes.ts";

export interface MountRequest {
  /** `tmpfs`, `nfs`; none for a bind mount. */
  readonly type?: string;
  readonly source: string;
  readonly target: string;
  readonly options?: readonly string[];
}

export async function mount({ type, source, target, options = [] }: MountRequest): Promise<void> {
  if (!target.startsWith("/")) throw new Error(`cannot mount at ${JSON.stringify(target)}: not an absolute path`);
  const kind = type === undefined ? ["--bind"] : ["--types", filesystemType(type)];
  const how = options.length > 0 ? ["--options", options.join(",")] : [];
  // Links in the paths are not followed: a link that somebody swaps in must not lead elsewhere.
  await runCommand("mount", ["--no-canonicalize", ...kind, ...how], { operands: [source, target] });
}

/** The name of a file system, such as `ext4`. It becomes part of a program's name, so nothing else is accepted. */
export function filesystemType(name: string): string {
  if (!/^[a-z][a-z0-9]{0,31}$/.test(name)) throw new Error(`not a file system type: ${JSON.stringify(name)}`);
  return name;
}

/** Unmounts what is mounted in or below the directories, deepest first. `lazy` does not wait for users of the mount. */
export async function unmountUnder(directories: readonly string[], how: "strict" | "lazy"): Promise<void> {
  const mounts = await mountsUnder(directories);
  if (mounts.length === 0) return;
  await runCommand("umount", how === "lazy" ? ["--lazy"] : [], { operands: mounts.toReversed() });
}

/** Mount points in or below the directories, in the order in which they were mounted. */
export async function mountsUnder(directories: readonly string[]): Promise<string[]> {
  const table = await readFile("/proc/self/mountinfo", "utf8");
  const points = table.split("\n").flatMap((line) => {
    const point = line.split(" ")[4];
    return point === undefined ? [] : [unescapeMount(point)];
  });
  return points.filter((point) => directories.some((dir) => point === dir || point.startsWith(`${dir}/`)));
}

/** The kernel writes blanks and backslashes in mount points as octal numbers. */
const unescapeMount = (point: string): string =>
  point.replace(/\\(\d{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));

/** Whether a separate file system is mounted at the directory: anything but a bind mount. */
export async function hasOwnFilesystem(dir: string): Promise<boolean> {
  const [here, above] = await Promise.all([stat(dir), stat(dirname(dir))]);
  return here.dev !== above.dev;
}

/** Whether anything is mounted at the directory itself. A bind mount shows only in the table of all mounts. */
export const isMountPoint = async (dir: string): Promise<boolean> =>
  (await hasOwnFilesystem(dir)) || (await mountsUnder([dir])).includes(dir);

const tmpfsMagic = 0x01021994;
export const isInMemory = async (path: string): Promise<boolean> => (await statfs(path)).type === tmpfsMagic;
