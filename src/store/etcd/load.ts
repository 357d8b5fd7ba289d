import { compareKeys } from "#lib/data/sorted-map.ts";
import { afterPrefix, type KeyValue, range } from "./calls.ts";
import { type EtcdClient } from "./etcd-client.ts";
import { isTooLargeToReceive } from "./faults.ts";

export interface LoadedPage {
  readonly kvs: readonly KeyValue[];
  /** The same for all pages. */
  readonly revision: number;
  readonly clusterId: bigint;
}

const firstKeys = 500;
const maxKeys = 8000;
/** Pages get longer until they are about this large. */
const usualBytes = 2 << 20;

/** All keys under the prefix at one revision: at the given one, or at the newest. */
export async function* loadPages(client: EtcdClient, prefix: string, revision = 0): AsyncGenerator<LoadedPage, void> {
  const rangeEnd = afterPrefix(prefix);
  let key = prefix;
  let at = revision;
  for (let limit = firstKeys; ; ) {
    let page: Awaited<ReturnType<typeof readPage>>;
    try {
      page = await readPage(client, { key, rangeEnd, limit, revision: at });
    } catch (error) {
      if (!isTooLargeToReceive(error) || limit === 1) throw error;
      limit = Math.max(1, limit >> 3);
      continue;
    }
    at = page.revision;
    yield page;
    const last = page.kvs.at(-1)?.key;
    if (!page.more || last === undefined) return;
    key = `${last}\0`;
    if (page.bytes < usualBytes) limit = Math.min(limit * 2, maxKeys);
    else if (page.bytes > 4 * usualBytes) limit = Math.max(1, limit >> 1);
  }
}

interface PageRequest {
  readonly key: string;
  readonly rangeEnd: string;
  readonly limit: number;
  readonly revision: number;
}

async function readPage(
  client: EtcdClient,
  request: PageRequest,
): Promise<LoadedPage & { more: boolean; bytes: number }> {
  const { header, kvs, more } = await client.read(range, request);
  if (!header || header.revision < 1) throw new Error("etcd answered without a revision");
  const revision = request.revision || header.revision;
  let bytes = 0;
  let last = "";
  for (const { key, modRevision, value } of kvs) {
    // Otherwise a server that sends the same page again and again would fill the memory.
    const isNext = last === "" ? compareKeys(key, request.key) >= 0 : compareKeys(key, last) > 0;
    if (!isNext || compareKeys(key, request.rangeEnd) >= 0) throw new Error("etcd answered with keys out of order");
    if (modRevision < 1 || modRevision > revision)
      throw new Error(`etcd answered with revision ${modRevision} of a key`);
    last = key;
    bytes += value.length;
  }
  return { kvs, more, revision, clusterId: header.clusterId, bytes };
}
