import { access } from "node:fs/promises";

/**
 * Whether there is a file or directory. Off the main thread: a look at a busy disk, a file system of the kernel, or a
 * server that does not answer may take long.
 */
export const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );
