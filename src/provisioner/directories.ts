import { chmod, mkdir, readdir, rmdir } from "node:fs/promises";
import path from "node:path";
import { makeDirectory } from "#lib/fs/make-directory.ts";
import { removeTree } from "#lib/fs/remove-tree.ts";
import { errorCode } from "#lib/text/error-code.ts";

/** The directories of volumes on a node. Every call may be repeated. */
export interface VolumeDirectories {
  pathOf(volume: string): string;
  make(volume: string): Promise<void>;
  remove(volume: string): Promise<void>;
  /** Removes those that are empty and unknown: a process may have ended before their volume was written. */
  tidy(isKnown: (volume: string) => boolean): Promise<void>;
}

/** One directory for each volume, below one that only root can enter. */
export function volumeDirectories(root: string): VolumeDirectories {
  const pathOf = (volume: string): string => path.join(root, volume);
  return {
    pathOf,
    async make(volume) {
      await makeDirectory(root, { mode: 0o700 });
      await mkdir(pathOf(volume)).catch((error: unknown) => {
        if (errorCode(error) !== "EEXIST") throw error;
      });
      // Containers run as any user, and nobody else can come here.
      await chmod(pathOf(volume), 0o777);
    },
    remove: (volume) => removeTree(pathOf(volume)),
    async tidy(isKnown) {
      const names = await readdir(root).catch(() => []);
      // A directory with files in it stays, whatever the API says.
      for (const name of names) if (!isKnown(name)) await rmdir(pathOf(name)).catch(() => undefined);
    },
  };
}

/** For nodes without a machine. */
export const simulatedDirectories: VolumeDirectories = {
  pathOf: (volume) => `/var/lib/orlop/volumes/${volume}`,
  make: async () => {},
  remove: async () => {},
  tidy: async () => {},
};
