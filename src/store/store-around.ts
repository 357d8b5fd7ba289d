import {
  type Change,
  type ChangesPage,
  type Committed,
  type Entry,
  type ListOptions,
  type ListResult,
  type PageOptions,
  type Refused,
  type Store,
  type StoreWatcher,
} from "./store.ts";

/** A store that shows the values of another one in another form. Revisions are those of the other one. */
export abstract class StoreAround implements Store {
  protected readonly inner: Store;

  constructor(inner: Store) {
    this.inner = inner;
  }

  get revision(): number {
    return this.inner.revision;
  }
  get compactedRevision(): number {
    return this.inner.compactedRevision;
  }
  get trouble(): string | undefined {
    return this.inner.trouble;
  }
  compact(revision: number): Promise<void> {
    return this.inner.compact(revision);
  }

  abstract get(key: string, revision?: number): Promise<Entry | undefined>;
  abstract list(prefix: string, options?: ListOptions): Promise<ListResult>;
  abstract changes(prefix: string, page: PageOptions): Promise<ChangesPage>;
  abstract commit(changes: readonly Change[]): Promise<Committed | Refused>;
  abstract watch(prefix: string, from: number, watcher: StoreWatcher): () => void;
  abstract catchUp(): Promise<void> | undefined;
  abstract [Symbol.asyncDispose](): Promise<void>;
}
