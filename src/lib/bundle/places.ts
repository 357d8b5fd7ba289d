import { accessSync, constants, lstatSync, statSync } from "node:fs";
import { userInfo } from "node:os";
import path from "node:path";
import { crc32 } from "node:zlib";

/** Where Orlop keeps what it can make again: beside itself, or in the user's cache if it cannot write there. */
function cacheOf(root: string, env: NodeJS.ProcessEnv): { folder: string; isShared: boolean } {
  if (isWritable(root)) return { folder: path.join(root, ".cache"), isShared: false };
  const { XDG_CACHE_HOME: caches = "" } = env;
  // Never a folder that others can write: what is in there is run.
  const folder = path.isAbsolute(caches) ? caches : path.join(env.HOME || userInfo().homedir, ".cache");
  return { folder: path.join(folder, "orlop"), isShared: true };
}

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** The bundle of a checkout. Several checkouts may share the user's cache. */
export function checkoutBundle(root: string, env: NodeJS.ProcessEnv = process.env): string {
  const { folder, isShared } = cacheOf(root, env);
  return path.join(folder, "bundle", isShared ? crc32(root).toString(16) : "");
}

/** The bundle of the package, which is built with it. */
export const packageBundle = (source: string): string => path.join(source, "bundle");

/** What V8 compiled, in a folder for each bundle. */
export const codeFolder = (root: string, env: NodeJS.ProcessEnv = process.env): string =>
  path.join(cacheOf(root, env).folder, "code");

/**
 * Whether it was written by this user, root or the owner of the sources, and cannot be changed by everybody; throws if it does
 * not exist. What is in there is run.
 */
export function isOurs(file: string, source: string): boolean {
  const found = lstatSync(file);
  const owners = [0, process.getuid?.(), statSync(source).uid];
  return !found.isSymbolicLink() && owners.includes(found.uid) && (found.mode & everybodyWrites) === 0;
}
const everybodyWrites = 0o002;
