import { rpc } from "#lib/proto/grpc/client.ts";
import { type Decoded, type Encodable, field, message, nested, repeated } from "#lib/proto/grpc/message.ts";

/** The part of etcd's v3 API that the store calls. Keys are text, because all of ours are. */

const Header = message({
  clusterId: field(1, "bigint"),
  revision: field(3, "int64"),
});
const KeyValue = message({
  key: field(1, "string"),
  createRevision: field(2, "int64"),
  modRevision: field(3, "int64"),
  version: field(4, "int64"),
  value: field(5, "bytes"),
});
export type KeyValue = Decoded<typeof KeyValue>;

const RangeRequest = message({
  key: field(1, "string"),
  rangeEnd: field(2, "string"),
  limit: field(3, "int64"),
  revision: field(4, "int64"),
  keysOnly: field(8, "bool"),
});
const RangeResponse = message({
  header: nested(1, Header),
  kvs: repeated(2, KeyValue),
  more: field(3, "bool"),
  count: field(4, "int64"),
});
const PutRequest = message({ key: field(1, "string"), value: field(2, "bytes"), lease: field(3, "bigint") });
const DeleteRequest = message({ key: field(1, "string") });
const DeleteResponse = message({ deleted: field(2, "int64") });

const RequestOp = message({
  range: nested(1, RangeRequest),
  put: nested(2, PutRequest),
  delete: nested(3, DeleteRequest),
});
export type RequestOp = Encodable<typeof RequestOp>;
const ResponseOp = message({
  range: nested(1, RangeResponse),
  put: nested(2, message({})),
  delete: nested(3, DeleteResponse),
});
const Compare = message({
  /** 0: equal. */
  result: field(1, "int32"),
  target: field(2, "int32"),
  key: field(3, "string"),
  version: field(4, "int64"),
  modRevision: field(6, "int64"),
});
/** What a comparison looks at. */
export const compareTarget = { version: 0, modRevision: 2 } as const;

const TxnRequest = message({
  compare: repeated(1, Compare),
  success: repeated(2, RequestOp),
  failure: repeated(3, RequestOp),
});
export type TxnRequest = Encodable<typeof TxnRequest>;
const TxnResponse = message({
  header: nested(1, Header),
  succeeded: field(2, "bool"),
  responses: repeated(3, ResponseOp),
});
export type TxnResponse = Decoded<typeof TxnResponse>;

const CompactionRequest = message({ revision: field(1, "int64") });
const CompactionResponse = message({ header: nested(1, Header) });

const WatchCreate = message({
  key: field(1, "string"),
  rangeEnd: field(2, "string"),
  startRevision: field(3, "int64"),
  fragment: field(8, "bool"),
});
const WatchRequest = message({ create: nested(1, WatchCreate) });
const WatchEvent = message({
  type: field(1, "int32"),
  kv: nested(2, KeyValue),
});
export const deleteEvent = 1;
const WatchResponse = message({
  header: nested(1, Header),
  created: field(3, "bool"),
  canceled: field(4, "bool"),
  compactRevision: field(5, "int64"),
  cancelReason: field(6, "string"),
  fragment: field(7, "bool"),
  events: repeated(11, WatchEvent),
});
export type WatchResponse = Decoded<typeof WatchResponse>;

const LeaseGrantRequest = message({ ttl: field(1, "int64") });
const LeaseGrantResponse = message({ header: nested(1, Header), id: field(2, "bigint"), error: field(4, "string") });

export const range = rpc("/etcdserverpb.KV/Range", RangeRequest, RangeResponse);
export const txn = rpc("/etcdserverpb.KV/Txn", TxnRequest, TxnResponse);
export const compaction = rpc("/etcdserverpb.KV/Compact", CompactionRequest, CompactionResponse);
export const watch = rpc("/etcdserverpb.Watch/Watch", WatchRequest, WatchResponse);
export const leaseGrant = rpc("/etcdserverpb.Lease/LeaseGrant", LeaseGrantRequest, LeaseGrantResponse);

/** All keys that are not less than `key`. */
export const toTheEnd = "\0";
/** The first key that does not start with `prefix`, whose last character is below 0x7f. */
export const afterPrefix = (prefix: string): string =>
  prefix.slice(0, -1) + String.fromCharCode(prefix.charCodeAt(prefix.length - 1) + 1);
