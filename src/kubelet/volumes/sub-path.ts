import { constants, type Stats } from "node:fs";
import { chmod, type FileHandle, lstat, mkdir, open, realpath, writeFile } from "node:fs/promises";
import { dirname, relative } from "node:path";
import { mount, mountsUnder } from "#lib/mounts.ts";
import { ownPid } from "#lib/processes.ts";

export interface SubPathRequest {
  /** The directory that the volume is mounted at. */
  readonly volumePath: string;
  /** Where in the volume; relative. */
  readonly subPath: string;
  /** Where the part is to be bound to; made here. */
  readonly target: string;
}

/**
 * Binds a part of a volume to a place of its own. The pod may write to the volume meanwhile and put links where
 * directories were: so the way is gone step by step, each from the opened one before, and never through a link; what
 * is bound is what was opened.
 */
export async function bindSubPath({ volumePath, subPath, target }: SubPathRequest): Promise<string> {
  if ((await mountsUnder([target])).includes(target)) return target;
  const root = await realpath(volumePath);
  const inside = await resolveInside(root, subPath);
  await using walk = await openWalk(root);
  for (const part of inside.existing) await walk.enter(part);
  for (const part of inside.missing) await walk.make(part);
  await prepareTarget(target, await walk.at().stat());
  await mount({ source: `/proc/${ownPid()}/fd/${walk.at().fd}`, target });
  return target;
}

interface Resolved {
  readonly existing: readonly string[];
  readonly missing: readonly string[];
}

/** Follows the links that are there now; what they lead to must be in the volume. */
async function resolveInside(root: string, subPath: string): Promise<Resolved> {
  const parts = subPath.split("/").filter((part) => part !== "" && part !== ".");
  if (subPath.startsWith("/") || parts.includes("..")) throw new Error(`subPath ${subPath} must stay in the volume`);
  const missing: string[] = [];
  for (let path = [root, ...parts].join("/"); ; path = dirname(path)) {
    const real = await realpath(path).catch(async (error: unknown) => {
      if (await isDangling(path))
        throw new Error(`subPath ${subPath} leads through a link to nowhere`, { cause: error });
      return undefined;
    });
    if (real === undefined) {
      missing.unshift(path.slice(dirname(path).length + 1));
      continue;
    }
    if (real !== root && !real.startsWith(`${root}/`)) {
      throw new Error(`subPath ${subPath} leads out of the volume, to ${real}`);
    }
    return { existing: relative(root, real).split("/").filter(Boolean), missing };
  }
}

const isDangling = async (path: string): Promise<boolean> => {
  const found = await lstat(path).catch(() => undefined);
  return found?.isSymbolicLink() ?? false;
};

interface Walk extends AsyncDisposable {
  at(): FileHandle;
  enter(name: string): Promise<void>;
  make(name: string): Promise<void>;
}

/** Opens for its place only, without reading, and a link as itself. */
const placeOnly = 0o10000000 | constants.O_NOFOLLOW;

async function openWalk(root: string): Promise<Walk> {
  let at = await open(root, placeOnly | constants.O_DIRECTORY);
  const { mode } = await at.stat();
  const below = (name: string) => `/proc/self/fd/${at.fd}/${name}`;
  const enter = async (name: string) => {
    const next = await open(below(name), placeOnly);
    await at.close();
    at = next;
    if ((await at.stat()).isSymbolicLink()) throw new Error(`${name} in a subPath became a link`);
  };
  return {
    at: () => at,
    enter,
    async make(name) {
      await mkdir(below(name), { mode: mode & 0o777 }).catch((error: unknown) => {
        if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
      });
      await enter(name);
      // Apart from making it, since the umask would take bits away.
      await chmod(`/proc/self/fd/${at.fd}`, mode & 0o7777);
    },
    [Symbol.asyncDispose]: () => at.close(),
  };
}

async function prepareTarget(target: string, source: Stats): Promise<void> {
  if (source.isDirectory()) await mkdir(target, { recursive: true });
  else {
    await mkdir(dirname(target), { recursive: true });
    await writeFile(target, "");
  }
}
