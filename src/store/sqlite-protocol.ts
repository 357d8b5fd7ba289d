/** The requests to the thread that owns the file. Answers come in the order of the requests. */
export type Request =
  /** Fails with `busy` if this is not the newest row: another process has written since the file was read. */
  | { readonly type: "open"; readonly file: string; readonly lastRow: number; readonly maxPages: number }
  /** Encoded: garbage count, row count, compacted revision, rows to drop, rows to add. One transaction. */
  | { readonly type: "write"; readonly batch: ArrayBuffer }
  /** One short step of maintenance. `quiet`: there were no recent writes, so this is a good time for it. */
  | {
      readonly type: "maintain";
      readonly garbage: readonly number[];
      readonly compactedRevision: number;
      readonly quiet: boolean;
    }
  | { readonly type: "close"; readonly compactedRevision: number };

export type Answer =
  | { readonly type: "done"; readonly more: boolean }
  /** `code` is the kind of error, as `codeOf` returns it. */
  | { readonly type: "failed"; readonly code: number; readonly message: string };
