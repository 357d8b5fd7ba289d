import { staleObject } from "#api/status.ts";
import { type Beside, BesideRefused } from "#server/objects/beside.ts";
import { type Claim, type Version, type Write, type WriteDeps, type WriteHook } from "../write.ts";

const maxAttempts = 20;

interface HookDeps {
  readonly hooks: WriteDeps["hooks"];
  readonly objects: Pick<WriteDeps["objects"], "catchUp">;
}

interface About {
  readonly write: Write;
  readonly version: Version;
}

type Commit<R> = (beside: Beside | undefined) => R | Promise<R>;

/** A hook that has something to do, and its place among the hooks. */
interface Running {
  readonly at: number;
  readonly claim: ReturnType<WriteHook>;
}

/**
 * Runs the hooks and then the commit with what they claimed beside the object. Another server may have claimed the same
 * meanwhile; then the hooks choose again. Their claims end with the commit, even after a failure.
 */
export function withHooks<R>(deps: HookDeps, about: About, commit: Commit<R>): R | Promise<R> {
  const first = nextRunning(deps, about, 0);
  // Most objects concern no hook, and a commit with nothing beside it needs no second choice.
  return first ? withClaims(deps, { about, first }, commit) : commit(undefined);
}

function nextRunning({ hooks }: HookDeps, { write, version }: About, from: number): Running | undefined {
  for (let at = from; at < hooks.length; at++) {
    const claim = hooks[at]?.(write, version.object, version.old);
    if (claim) return { at, claim };
  }
  return undefined;
}

async function withClaims<R>(
  deps: HookDeps,
  { about, first }: { readonly about: About; readonly first: Running },
  commit: Commit<R>,
): Promise<R> {
  let running: Running | undefined = first;
  for (let attempt = 1; ; attempt++) {
    const claims: Claim[] = [];
    try {
      for (; running; running = nextRunning(deps, about, running.at + 1)) {
        const claim = await running.claim;
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
    await deps.objects.catchUp();
    running = nextRunning(deps, about, 0);
  }
}

function joined(claims: readonly Claim[]): Beside | undefined {
  const all = claims.flatMap(({ beside }) => beside ?? []);
  if (all.length <= 1) return all[0];
  return { create: all.flatMap(({ create }) => create), remove: all.flatMap(({ remove }) => remove) };
}
