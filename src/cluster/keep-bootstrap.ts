import { type ApiObject, type InputOf, type Resource } from "#api/resource.ts";
import { isAlreadyExists } from "#api/status.ts";
import { type Client } from "#client/client.ts";
import { type Clock } from "#lib/async/clock.ts";
import { type Log } from "#lib/process/log.ts";
import { type Informers } from "#runtime/informer.ts";
import { keyOf } from "#runtime/object-cache.ts";

/** Objects of one kind that every cluster has. */
export interface Kept<T extends ApiObject = ApiObject> {
  readonly resource: Resource<T>;
  /** Made when one of that kind is deleted, so that they take no memory. */
  objects(): readonly InputOf<T>[];
}

export interface KeepDeps {
  readonly client: Client;
  readonly informers: Informers;
  readonly clock: Clock;
  readonly log: Log;
  readonly kept: readonly Kept[];
}

/** After a deletion, so that whoever deletes something sees that it worked, and a few at once cost one round. */
const pauseMs = 1000;

/** Creates again what was deleted, until the signal. What was only changed is repaired at the next start. */
export async function keepBootstrap(
  { client, informers, clock, log, kept }: KeepDeps,
  signal: AbortSignal,
): Promise<void> {
  const missing = new Map<string, () => Promise<unknown>>();
  let wake = Promise.withResolvers<void>();
  const onAbort = (): void => wake.resolve();
  signal.addEventListener("abort", onAbort, { once: true });
  const stops = kept.map(({ resource, objects }) => {
    return informers.of(resource).subscribe(({ type, object }) => {
      if (type !== "delete") return;
      const key = keyOf(object);
      const lost = objects().find((one) => keyOf(one as ApiObject) === key);
      if (!lost) return;
      missing.set(`${resource.group}/${resource.plural}/${key}`, () => client.create(resource, lost, { signal }));
      wake.resolve();
    });
  });
  try {
    while (!signal.aborted) {
      if (missing.size === 0) await wake.promise;
      wake = Promise.withResolvers<void>();
      await clock.sleep(pauseMs, signal);
      for (const [key, create] of missing) if (await isThere(create, { key, log })) missing.delete(key);
    }
  } finally {
    signal.removeEventListener("abort", onAbort);
    for (const stop of stops) stop();
  }
}

async function isThere(create: () => Promise<unknown>, { key, log }: { key: string; log: Log }): Promise<boolean> {
  try {
    await create();
    log.info("a deleted object that every cluster has was created again", { object: key });
    return true;
  } catch (error) {
    if (isAlreadyExists(error)) return true;
    log.warn("a deleted object that every cluster has could not be created again", { object: key, error });
    return false;
  }
}
