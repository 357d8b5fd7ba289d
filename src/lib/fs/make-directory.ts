import { mkdir, stat } from "node:fs/promises";
import path from "node:path";
import { isGone } from "#lib/text/error-code.ts";

/**
 * Makes a directory and its missing parents; an existing one is fine. Node's recursive mkdir never ends, and keeps a
 * thread busy, where the kernel says ENOENT although the parent exists: everywhere in /proc.
 */
export async function makeDirectory(dir: string, { mode }: { readonly mode: number }): Promise<void> {
  const missing: string[] = [];
  for (let each = path.resolve(dir); !(await isDirectory(each)); each = path.dirname(each)) missing.unshift(each);
  for (const each of missing) {
    try {
      await mkdir(each, { mode });
    } catch (error) {
      // Somebody else may have made it meanwhile.
      if (!(await isDirectory(each))) throw error;
    }
  }
}

async function isDirectory(dir: string): Promise<boolean> {
  try {
    return (await stat(dir)).isDirectory();
  } catch (error) {
    if (isGone(error)) return false;
    throw error;
  }
}
