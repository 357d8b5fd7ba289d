import { type Clock } from "#lib/async/clock.ts";

export interface ParentDeps {
  readonly clock: Clock;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The process that started this one. Another one adopts it when that has ended. */
  parentId(): number;
}

const lookEveryMs = 1000;

/**
 * Fires with the given signal, and under npx also when the parent has ended: npx starts a shell that does not pass signals
 * on, so nobody would tell this process.
 */
export function orParentEnded(signal: AbortSignal, { clock, env, parentId }: ParentDeps): AbortSignal {
  if (env.npm_lifecycle_event !== "npx") return signal;
  const parent = parentId();
  const orphaned = new AbortController();
  const look = (): void => {
    if (parentId() === parent) cancel = clock.after(lookEveryMs, look);
    else orphaned.abort(new Error("npx has ended"));
  };
  let cancel = clock.after(lookEveryMs, look);
  signal.addEventListener("abort", () => cancel(), { once: true });
  return AbortSignal.any([signal, orphaned.signal]);
}
