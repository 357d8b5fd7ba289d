import assert from "node:assert/strict";
import http2 from "node:http2";
import { type AddressInfo } from "node:net";
import { test } from "node:test";
import { systemClock } from "#lib/async/clock.ts";
import { silentLog } from "#lib/process/log.ts";
import { frame } from "#lib/proto/grpc/frames.ts";
import { field, message, nested, repeated } from "#lib/proto/grpc/message.ts";
import { collect, put } from "../store.suite.ts";
import { EtcdError, openEtcdStore } from "./etcd-store.ts";

/** What the server says, as it would be encoded by a real one. */
const Header = message({ clusterId: field(1, "bigint"), revision: field(3, "int64") });
const KeyValue = message({
  key: field(1, "string"),
  createRevision: field(2, "int64"),
  modRevision: field(3, "int64"),
  value: field(5, "bytes"),
});
const Range = message({ header: nested(1, Header), kvs: repeated(2, KeyValue), more: field(3, "bool") });
const Txn = message({ header: nested(1, Header), succeeded: field(2, "bool") });
const Watch = message({
  header: nested(1, Header),
  created: field(3, "bool"),
  events: repeated(11, message({ type: field(1, "int32"), kv: nested(2, KeyValue) })),
});

const header = { clusterId: 7n, revision: 10 };
const kv = (key: string, modRevision: number) => ({ key, modRevision, createRevision: 1, value: Buffer.from("x") });
const range = (fields: Parameters<typeof Range.encode>[0] = {}) => frame(Range.encode({ header, ...fields }));
const change = (revision: number, newest = 100) =>
  frame(Watch.encode({ header: { ...header, revision: newest }, events: [{ kv: kv("/x/a", revision) }] }));

interface Answers {
  readonly range?: Buffer;
  readonly txn?: Buffer;
  /** Sent one after another, at the start of each watch. */
  readonly watch?: readonly Buffer[];
}

/** A server that sends these bytes for each call. */
async function startHostile(answers: Answers) {
  const server = http2.createServer();
  const sessions = new Set<http2.ServerHttp2Session>();
  const watches = { count: 0 };
  server.on("session", (session) => sessions.add(session.on("error", () => {})));
  server.on("stream", (stream: http2.ServerHttp2Stream, headers) => {
    stream.on("error", () => {});
    stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
    stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
    const method = String(headers[":path"]).split("/").at(-1);
    if (method === "Watch") {
      watches.count++;
      for (const bytes of answers.watch ?? []) stream.write(bytes);
    } else stream.end(method === "Txn" ? answers.txn : (answers.range ?? range()));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    watches,
    async [Symbol.asyncDispose]() {
      for (const session of sessions) session.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const open = (endpoint: string) =>
  openEtcdStore({
    endpoints: [endpoint],
    clock: systemClock,
    log: silentLog,
    keys: { ours: "", theirs: "/x" },
  });

const hugeFrame = Buffer.from([0, 0xff, 0xff, 0xff, 0xff]);
const states: readonly { name: string; range: Buffer; why: RegExp }[] = [
  { name: "a frame of 4 GiB", range: hugeFrame, why: /larger than max/ },
  { name: "bytes that are not protobuf", range: frame(Buffer.from([0xff, 0xff, 0xff])), why: /EOF/ },
  { name: "no revision", range: frame(Buffer.alloc(0)), why: /without a revision/ },
  { name: "keys that were not asked for", range: range({ kvs: [kv("/y/secret", 3)] }), why: /out of order/ },
  { name: "keys out of order", range: range({ kvs: [kv("/x/b", 3), kv("/x/a", 3)] }), why: /out of order/ },
  { name: "the same page for ever", range: range({ kvs: [kv("/x/a", 3)], more: true }), why: /out of order/ },
  { name: "a revision from the future", range: range({ kvs: [kv("/x/a", 11)] }), why: /revision 11 of a key/ },
];
for (const { name, range: answer, why } of states) {
  test(`a store does not open if etcd answers with ${name}`, async () => {
    await using hostile = await startHostile({ range: answer });
    await assert.rejects(open(hostile.endpoint), (error) => error instanceof EtcdError && why.test(error.message));
  });
}

const streams: readonly { name: string; watch: readonly Buffer[] }[] = [
  { name: "a change of a revision that it had sent before", watch: [change(10)] },
  { name: "a change beyond its own revision", watch: [change(101)] },
  { name: "a huge frame", watch: [hugeFrame] },
  { name: "bytes that are not protobuf", watch: [frame(Buffer.from([0xff, 0xff, 0xff]))] },
];
for (const { name, watch } of streams) {
  test(`a watch ends and starts again without effect if etcd sends ${name}`, async () => {
    await using hostile = await startHostile({ watch });
    await using store = await open(hostile.endpoint);
    const seen = collect(store, "/", store.revision);
    while (hostile.watches.count < 3) await systemClock.sleep(10);

    assert.deepEqual(seen.events, []);
    assert.equal(store.revision, 10);
  });
}

test("changes that come in the wrong order end the watch after those that were right", async () => {
  await using hostile = await startHostile({ watch: [change(11), change(13), change(12)] });
  await using store = await open(hostile.endpoint);
  const seen = collect(store, "/", 10);
  await seen.upTo(13);
  await systemClock.sleep(20);

  assert.deepEqual(
    seen.events.map(({ revision }) => revision),
    [11, 13],
  );
});

test("a write fails if etcd's answer does not fit it", async () => {
  await using hostile = await startHostile({ txn: frame(Txn.encode({ header, succeeded: true })) });
  await using store = await open(hostile.endpoint);

  await assert.rejects(put(store, "/a", "1"), /answered 0 operations/);
});

test("writes are refused once etcd turns out to be another cluster", async () => {
  const txn = frame(Txn.encode({ header: { clusterId: 8n, revision: 11 }, succeeded: true }));
  await using hostile = await startHostile({ txn });
  await using store = await open(hostile.endpoint);

  await assert.rejects(put(store, "/a", "1"), /cluster id changed/);
  await assert.rejects(put(store, "/a", "1"), /restart Orlop/);
});
