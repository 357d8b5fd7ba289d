/** What the store asks of the thread that owns the file. Answers come in the order of requests. */
export type Request =
  /** Encoded: garbage count, row count, compacted revision, rows to drop, rows to add. One transaction. */
  | { readonly type: "write"; readonly batch: ArrayBuffer }
  /** One short step of upkeep. `quiet`: nothing was written lately, so that this is a good time to tidy up. */
  | {
      readonly type: "tend";
      readonly garbage: readonly number[];
      readonly compactedRevision: number;
      readonly quiet: boolean;
    }
  | { readonly type: "close" };

export type Answer =
  | { readonly type: "done"; readonly more: boolean }
  /** `code`: SQLite's primary result code. */
  | { readonly type: "failed"; readonly code: number; readonly message: string };

/** What the thread says by itself when it starts: "found", any number of "rows", then "opened"; or "failed". */
export type Opening =
  | { readonly type: "found"; readonly compactedRevision: number }
  | { readonly type: "rows"; readonly count: number; readonly rows: ArrayBuffer }
  | { readonly type: "opened" }
  | (Answer & { readonly type: "failed" });

export interface WorkerSettings {
  readonly file: string;
  /** Stands in for a full disk; 0: as large as the disk allows. */
  readonly maxPages: number;
}

export const resultCodes = {
  busy: 5,
  locked: 6,
  corrupt: 11,
  full: 13,
  cannotOpen: 14,
  notDatabase: 26,
  /** Not SQLite's: a database, but not ours. */
  foreign: -1,
  /** Not SQLite's: ours, but from the future. */
  newer: -2,
} as const;
