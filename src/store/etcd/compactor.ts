import { type Clock } from "#lib/async/clock.ts";
import { type Log } from "#lib/process/log.ts";
import { compaction, compareTarget, txn } from "./calls.ts";
import { type EtcdClient } from "./etcd-client.ts";
import { isCompacted } from "./faults.ts";

/** Upstream's name: the API servers of one etcd, of either kind, agree by it on who compacts. */
const compactKey = "compact_rev_key";
const compactEveryMs = 5 * 60_000;

export interface CompactorDeps {
  readonly client: EtcdClient;
  readonly clock: Clock;
  readonly log: Log;
}

/** Where the last round left off. */
interface Round {
  /** The version of the key, which counts the rounds of all servers. */
  readonly version: number;
  /** The newest revision then; 0 before the first round. */
  readonly revision: number;
}

/** Drops history that is older than five to ten minutes, for as long as the signal allows. */
export async function runCompactor({ client, clock, log }: CompactorDeps, signal: AbortSignal): Promise<void> {
  let round: Round = { version: 0, revision: 0 };
  while (!signal.aborted) {
    await clock.sleep(compactEveryMs, signal).catch(() => undefined);
    if (signal.aborted) return;
    try {
      round = await compactOnce(client, round);
    } catch (error) {
      log.warn("etcd could not be compacted, trying again later", { error });
    }
  }
}

/** Of all servers, the one that finds the key as it left it compacts; the others take note. */
export async function compactOnce(client: EtcdClient, { version, revision }: Round): Promise<Round> {
  const value = new TextEncoder().encode(String(revision));
  const { header, succeeded, responses } = await client.write(txn, {
    compare: [{ target: compareTarget.version, key: compactKey, version }],
    success: [{ put: { key: compactKey, value } }],
    failure: [{ range: { key: compactKey } }],
  });
  const newest = header?.revision ?? 0;
  if (!succeeded) return { version: responses[0]?.range?.kvs[0]?.version ?? 0, revision: newest };
  if (revision > 0) await compactTo(client, revision);
  return { version: version + 1, revision: newest };
}

/** Somebody else may have compacted further. */
export async function compactTo(client: EtcdClient, revision: number): Promise<void> {
  try {
    await client.read(compaction, { revision });
  } catch (error) {
    if (!isCompacted(error)) throw error;
  }
}
