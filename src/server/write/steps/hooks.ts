import { staleObject } from "#api/status.ts";
import { type Beside, BesideRefused } from "#server/objects/beside.ts";
import { type Claim, type Version, type Write, type WriteDeps } from "../write.ts";

const maxAttempts = 20;

/**
 * Runs the hooks and then the commit with what they claimed beside the object. Another server may have claimed the same
 * meanwhile; then the hooks choose again. Their claims end with the commit, even after a failure.
 */
export async function withHooks<R>(
  { hooks, objects }: { hooks: WriteDeps["hooks"]; objects: Pick<WriteDeps["objects"], "catchUp"> },
  about: { readonly write: Write; readonly version: Version },
  commit: (beside: Beside | undefined) => R | Promise<R>,
): Promise<R> {
  for (let attempt = 1; ; attempt++) {
    const claims: Claim[] = [];
    try {
      for (const hook of hooks) {
        const running = hook(about.write, about.version.object, about.version.old);
        const claim = running && (await running);
        if (claim) claims.push(claim);
      }
      return await commit(joined(claims));
    } catch (error) {
      // The object may be written once more, under another name.
      for (const { undo } of claims) undo?.();
      if (!(error instanceof BesideRefused)) throw error;
      if (attempt === maxAttempts) throw staleObject(about.write.resource, about.version.object.metadata.name ?? "");
    } finally {
      for (const { end } of claims) end?.();
    }
    await objects.catchUp();
  }
}

function joined(claims: readonly Claim[]): Beside | undefined {
  const all = claims.flatMap(({ beside }) => beside ?? []);
  if (all.length <= 1) return all[0];
  return { create: all.flatMap(({ create }) => create), remove: all.flatMap(({ remove }) => remove) };
}
