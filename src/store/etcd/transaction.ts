import { type Change, type Entry } from "../store.ts";
import { compareTarget, type KeyValue, type RequestOp, type TxnRequest, type TxnResponse } from "./calls.ts";
import { type Keys } from "./keys.ts";

/** A change as it is sent. */
export interface Prepared {
  readonly key: string;
  readonly value: Uint8Array | undefined;
  readonly expected: number | undefined;
  readonly lease: bigint | undefined;
}

/** etcd gives the revision only after the write, so values do not contain theirs. */
export const prepare = ({ key, value, expected }: Change, lease: bigint | undefined): Prepared => ({
  key,
  value: typeof value === "function" ? value(0) : value,
  expected,
  lease,
});

/** All changes, if every expectation holds; otherwise the entries that were expected to be different. */
export function renderTransaction(changes: readonly Prepared[], keys: Keys): TxnRequest {
  const expecting = changes.filter(({ expected }) => expected !== undefined);
  return {
    compare: expecting.map(({ key, expected = 0 }) => ({
      target: compareTarget.modRevision,
      key: keys.toEtcd(key),
      modRevision: expected,
    })),
    success: changes.map((change) => operationOf(change, keys)),
    failure: expecting.map(({ key }) => ({ range: { key: keys.toEtcd(key) } })),
  };
}

function operationOf({ key, value, lease }: Prepared, keys: Keys): RequestOp {
  if (value === undefined) return { delete: { key: keys.toEtcd(key) } };
  return { put: { key: keys.toEtcd(key), value, ...(lease === undefined ? {} : { lease }) } };
}

export type Outcome =
  | { readonly type: "committed"; readonly revision: number; readonly changed: readonly Prepared[] }
  | { readonly type: "refused"; readonly revision: number; readonly key: string; readonly current: Entry | undefined };

/** What the answer says. Deleting an absent key changes nothing. */
export function outcomeOf(changes: readonly Prepared[], answer: TxnResponse): Outcome {
  const { header, succeeded, responses } = answer;
  const revision = header?.revision ?? 0;
  if (succeeded) {
    checkCount(responses.length, changes.length);
    const changed = changes.filter(({ value }, n) => value !== undefined || responses[n]?.delete?.deleted === 1);
    return { type: "committed", revision, changed };
  }
  const expecting = changes.filter(({ expected }) => expected !== undefined);
  checkCount(responses.length, expecting.length);
  for (const [n, { key, expected }] of expecting.entries()) {
    const kv = responses[n]?.range?.kvs[0];
    if ((kv?.modRevision ?? 0) !== expected) return { type: "refused", revision, key, current: kv && entryOf(key, kv) };
  }
  throw new Error("etcd refused a transaction although all its expectations hold");
}

function checkCount(found: number, wanted: number): void {
  if (found !== wanted) throw new Error(`etcd answered ${found} operations of a transaction of ${wanted}`);
}

/** The value is copied, because it is a view of everything that arrived with it. */
export const entryOf = (key: string, { value, modRevision, createRevision }: KeyValue): Entry => ({
  key,
  value: ownBytes(value),
  revision: modRevision,
  created: createRevision,
});

export function ownBytes(view: Uint8Array): Uint8Array {
  const bytes = Buffer.allocUnsafeSlow(view.length);
  bytes.set(view);
  return bytes;
}
