import { type Change, type Committed, type Refused } from "#store/store.ts";

/** The changes of a write: the object itself, and what is written beside it. */
export interface Parts {
  readonly main: readonly Change[];
  readonly create: readonly Change[];
  readonly remove: readonly Change[];
}

type Commit = (changes: readonly Change[]) => Promise<Committed | Refused>;

/** etcd refuses a transaction with more than 128 changes. */
const maxBeside = 100;

/**
 * One commit, if the store can take it. Otherwise the rest is created before, and removed after it: a crash or an error
 * in between leaves too many objects beside it, never too few.
 */
export async function commitInParts(commit: Commit, { main, create, remove }: Parts): Promise<Committed | Refused> {
  if (create.length + remove.length <= maxBeside) return await commit([...main, ...create, ...remove]);
  const made: Change[] = [];
  const refused = async (result: Refused): Promise<Refused> => {
    await removeAll(commit, made);
    return result;
  };
  for (const part of partsOf(create.slice(maxBeside))) {
    const result = await commit(part);
    if (!result.ok) return await refused(result);
    made.push(...part.map(({ key }) => ({ key, value: undefined })));
  }
  const first = create.slice(0, maxBeside);
  const result = await commit([...main, ...first, ...remove.slice(0, maxBeside - first.length)]);
  if (!result.ok) return await refused(result);
  await removeAll(commit, remove.slice(maxBeside - first.length));
  return result;
}

/** What cannot be removed now stays until it is repaired. */
async function removeAll(commit: Commit, removals: readonly Change[]): Promise<void> {
  for (const part of partsOf(removals)) await commit(part).catch(() => undefined);
}

function* partsOf(changes: readonly Change[]): Iterable<readonly Change[]> {
  for (let from = 0; from < changes.length; from += maxBeside) yield changes.slice(from, from + maxBeside);
}
