import { type Version, type Write, type WriteHook } from "../write.ts";

/**
 * Runs the hooks and then the commit. The functions that the hooks return are called at the end, even after a failure.
 */
export async function withHooks<R>(
  hooks: readonly WriteHook[],
  { write, version: { object, old } }: { readonly write: Write; readonly version: Version },
  commit: () => R | Promise<R>,
): Promise<R> {
  const ends: (() => void)[] = [];
  try {
    for (const hook of hooks) {
      const running = hook(write, object, old);
      const end = running && (await running);
      if (end) ends.push(end);
    }
    return await commit();
  } finally {
    for (const end of ends) end();
  }
}
