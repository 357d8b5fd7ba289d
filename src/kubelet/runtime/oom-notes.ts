import { rm, stat } from "node:fs/promises";
import { isGone } from "#lib/text/error-code.ts";

/* The notes of the runc script (see containerd/runc-script.ts): a file for each container that ran out of memory. */

/** Whether the kernel killed a process of this exited container because memory ran out. */
export async function hasOomNote(dir: string, containerId: string): Promise<boolean> {
  if (!isId(containerId)) return false;
  try {
    await stat(`${dir}/${containerId}`);
    return true;
  } catch (error) {
    if (isGone(error)) return false;
    throw error;
  }
}

export async function removeOomNote(dir: string, containerId: string): Promise<void> {
  if (isId(containerId)) await rm(`${dir}/${containerId}`, { force: true });
}

/** Checked, because an id becomes part of a path. */
const isId = (text: string): boolean => /^[\w-]{1,128}$/.test(text);
