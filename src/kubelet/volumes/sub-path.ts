import { type Stats } from "node:fs";
import { mkdir, rm, rmdir, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { isThere } from "#lib/fs/is-there.ts";
import { mount, unmountUnder } from "#lib/fs/mounts.ts";
import { LeadsOut, openBelow } from "#lib/fs/open-below.ts";
import type { Place } from "#lib/fs/place.ts";
import { ownPid } from "#lib/process/processes.ts";
import { errorCode, isGone } from "#lib/text/error-code.ts";
import { messageOf } from "#lib/text/message-of.ts";

export interface SubPathRequest {
  /** The directory that the volume is mounted at. */
  readonly volumePath: string;
  /** Relative to the volume. */
  readonly subPath: string;
  /** Where to bind the part; created here. */
  readonly target: string;
}

/**
 * Binds part of a volume to its own mount point, again for each start of a container, because the path may lead elsewhere
 * by then. The pod may write to the volume meanwhile, so the bind uses the opened file and not the path.
 */
export async function bindSubPath({ volumePath, subPath, target }: SubPathRequest): Promise<string> {
  if (subPath.split("/").includes("..")) throw new Error(`subPath ${subPath} must stay in the volume`);
  await using place = await openPart(volumePath, subPath);
  await clearTarget(target);
  await prepareTarget(target, await place.stat());
  await mount({ source: `/proc/${ownPid()}/fd/${place.descriptor}`, target });
  return target;
}

async function openPart(volumePath: string, subPath: string): Promise<Place> {
  try {
    return await openBelow(volumePath, subPath, { makeMissing: true });
  } catch (error) {
    if (!(error instanceof LeadsOut)) throw error;
    throw new Error(`subPath ${subPath} must stay in the volume: ${messageOf(error)}`, { cause: error });
  }
}

/** Removes the bind of the previous start. After that, nothing of the volume is below the target. */
async function clearTarget(target: string): Promise<void> {
  if (!(await isThere(target))) return;
  await unmountUnder([target], "lazy");
  try {
    await rm(target, { force: true });
  } catch (error) {
    if (errorCode(error) !== "ERR_FS_EISDIR" && errorCode(error) !== "EISDIR") throw error;
    await rmdir(target).catch((failure: unknown) => {
      if (!isGone(failure)) throw failure;
    });
  }
}

async function prepareTarget(target: string, source: Stats): Promise<void> {
  await mkdir(dirname(target), { recursive: true });
  if (source.isDirectory()) await mkdir(target);
  else await writeFile(target, "", { flag: "wx" });
}
