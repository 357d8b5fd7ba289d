import { badRequest, StatusError } from "#api/status.ts";
import { CompactedError, type Entry, FutureRevisionError, type ListResult, type Store } from "#store/store.ts";
import { type Answer, type Context } from "./pipeline.ts";

/** One page of all entries at one revision, with values in base64. */
export interface BackupPage {
  readonly revision: number;
  readonly entries: readonly { key: string; revision: number; created: number; value: string }[];
  /** Where the next page starts; undefined after the last one. */
  readonly after?: string;
}

const pageEntries = 500;
const pageBytes = 512 << 10;

/**
 * GET /orlop/backup[?revision=N&after=KEY]: the whole state as it is stored, for administrators. The first page names the
 * revision that the others ask for.
 */
export const answerBackup =
  (store: Store) =>
  (context: Context): Promise<Answer> | undefined => {
    const { info, query } = context;
    if (info.verb !== "get" || info.path !== "/orlop/backup") return undefined;
    return pageOf(store, query).then((value) => ({ type: "value", status: 200, value }));
  };

async function pageOf(store: Store, query: URLSearchParams): Promise<BackupPage> {
  const after = query.get("after") ?? "";
  const asked = query.get("revision");
  if (asked !== null && !/^[1-9]\d{0,15}$/.test(asked)) throw badRequest("revision must be a number");
  if (asked === null) await store.catchUp();
  const page = await read(store, { after, revision: asked === null ? store.revision : Number(asked) });
  const entries: Entry[] = [];
  let bytes = 0;
  for (const entry of page.entries) {
    if (bytes >= pageBytes) break;
    entries.push(entry);
    bytes += entry.value.length;
  }
  const isLast = entries.length === page.entries.length && page.remaining === 0;
  const last = entries.at(-1)?.key;
  return {
    revision: page.revision,
    entries: entries.map(({ value, ...rest }) => ({ ...rest, value: Buffer.from(value).toString("base64") })),
    ...(isLast || last === undefined ? {} : { after: last }),
  };
}

async function read(store: Store, { after, revision }: { after: string; revision: number }): Promise<ListResult> {
  try {
    return await store.list("/registry/", { revision, limit: pageEntries, ...(after ? { after } : {}) });
  } catch (error) {
    if (error instanceof CompactedError) throw new StatusError("Expired", "the state changed too much: start again");
    if (error instanceof FutureRevisionError) throw badRequest("revision is in the future");
    throw error;
  }
}
