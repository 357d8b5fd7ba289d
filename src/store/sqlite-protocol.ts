/** What the store asks of the thread that owns the file. Answers come in the order of requests. */
export type Request =
  /** Refused with `busy` if this is not the newest row: somebody else was here since the file was read. */
  | { readonly type: "open"; readonly file: string; readonly lastRow: number; readonly maxPages: number }
  /** Encoded: garbage count, row count, compacted revision, rows to drop, rows to add. One transaction. */
  | { readonly type: "write"; readonly batch: ArrayBuffer }
  /** One short step of upkeep. `quiet`: nothing was written lately, so that this is a good time to tidy up. */
  | {
      readonly type: "tend";
      readonly garbage: readonly number[];
      readonly compactedRevision: number;
      readonly quiet: boolean;
    }
  | { readonly type: "close"; readonly compactedRevision: number };

export type Answer =
  | { readonly type: "done"; readonly more: boolean }
  /** `code`: the kind of error, as `codeOf` tells it. */
  | { readonly type: "failed"; readonly code: number; readonly message: string };
