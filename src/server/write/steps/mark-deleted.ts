import { type DeleteOptions } from "#api/meta/delete-options.ts";
import { type ApiObject, type Resource } from "#api/resource.ts";
import { timestamp } from "#lib/async/clock.ts";

/**
 * The object after its deletion has begun; the same object if there is nothing to change. While a grace period runs,
 * another request can only shorten it, and the finalizers stay as they are.
 */
export function markDeleted(
  resource: Resource,
  object: ApiObject,
  { options, now }: { options: DeleteOptions; now: number },
): ApiObject {
  const { metadata } = object;
  const running = metadata.deletionTimestamp === undefined ? 0 : (metadata.deletionGracePeriodSeconds ?? 0);
  if (running > 0 && (options.gracePeriodSeconds ?? running) >= running) return object;
  const present = metadata.finalizers ?? [];
  const finalizers = resource.hasNoDependents ? present : finalizersFor(resource, present, options);
  const isSame = sameNames(finalizers, present);
  if (metadata.deletionTimestamp !== undefined && running === 0 && isSame) return object;
  const marked: ApiObject = { ...object, metadata: { ...metadata } };
  if (finalizers.length > 0) marked.metadata.finalizers = [...finalizers];
  else delete marked.metadata.finalizers;
  if (metadata.deletionTimestamp === undefined) begin(resource, marked, { options, now });
  else if (running > 0) shorten(marked, { asked: options.gracePeriodSeconds ?? running, running, now });
  resource.prepareForDeletion?.(marked);
  return marked;
}

/** Deletion starts a new generation, so that observers of the generation notice it. */
function begin(resource: Resource, marked: ApiObject, { options, now }: { options: DeleteOptions; now: number }): void {
  const { metadata } = marked;
  const grace = resource.gracePeriodSeconds?.(marked, options.gracePeriodSeconds) ?? 0;
  metadata.deletionTimestamp = timestamp(now + grace * 1000);
  // A kind that controls its own end has no deadline, and its state says that it ends.
  if (resource.holdsDeletion) return;
  metadata.deletionGracePeriodSeconds = grace;
  if (metadata.generation) metadata.generation++;
}

/** Counted from the first deletion request; a time in the past becomes now, with one second of grace. */
function shorten(
  { metadata }: ApiObject,
  { asked, running, now }: { asked: number; running: number; now: number },
): void {
  const grace = asked < 0 ? 1 : asked;
  const began = Date.parse(metadata.deletionTimestamp ?? "") - running * 1000;
  const deadline = began + grace * 1000;
  const isPast = deadline < now;
  metadata.deletionTimestamp = timestamp(isPast ? now : deadline);
  metadata.deletionGracePeriodSeconds = isPast && grace > 0 ? 1 : grace;
}

/** Finalizers tell the garbage collector how to treat the dependents. */
function finalizersFor(
  { orphansDependents }: Resource,
  finalizers: readonly string[],
  options: DeleteOptions,
): readonly string[] {
  const policy = options.propagationPolicy ?? fromOrphan(options.orphanDependents);
  if (policy === undefined) {
    const isDecided = finalizers.includes("orphan") || finalizers.includes("foregroundDeletion");
    return orphansDependents === undefined || isDecided ? finalizers : [...finalizers, "orphan"];
  }
  const others = finalizers.filter((name) => name !== "orphan" && name !== "foregroundDeletion");
  if (policy === "Orphan") return [...others, "orphan"];
  if (policy === "Foreground") return [...others, "foregroundDeletion"];
  return others;
}

const fromOrphan = (orphanDependents: boolean | undefined): string | undefined =>
  orphanDependents === undefined ? undefined : orphanDependents ? "Orphan" : "Background";

function sameNames(some: readonly string[], others: readonly string[]): boolean {
  if (some === others) return true;
  const known = new Set(others);
  return some.length === others.length && some.every((name) => known.has(name));
}
