import assert from "node:assert/strict";
import { once } from "node:events";
import http2 from "node:http2";
import https from "node:https";
import { type Readable } from "node:stream";
import { after, before, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { ConfigMap } from "#api/core/config-map.ts";
import { systemClock } from "#lib/async/clock.ts";
import { createAuthority, createCertificate } from "#lib/crypto/x509.ts";
import { silentLog } from "#lib/process/log.ts";
import { type Listening, listen } from "#server/http/serve.ts";
import { startCluster, type TestCluster } from "#testing/start-cluster.ts";

const now = systemClock.now();
const validity = { notBeforeMs: now - 60_000, notAfterMs: now + 3_600_000 };
const authority = createAuthority({ subject: { commonName: "test authority" }, ...validity });
const ca = authority.certificate;
const admin = { name: "admin", groups: ["system:masters"] };
const namespace = "default";
const path = `/api/v1/namespaces/${namespace}/configmaps`;

let cluster: TestCluster;
let listening: Listening;
before(async () => {
  cluster = await startCluster({ controllers: false });
  const subject = { commonName: "test" };
  const { key, certificate } = createCertificate(authority, {
    subject,
    use: "server",
    hosts: ["127.0.0.1"],
    ...validity,
  });
  listening = await listen((request) => cluster.api.server.serve(request), {
    host: "127.0.0.1",
    port: 0,
    key,
    cert: certificate,
    ca,
    clock: systemClock,
    log: silentLog,
    peerOf: () => ({ address: "127.0.0.1", user: admin }),
  });
});
after(async () => {
  await listening[Symbol.asyncDispose]();
  await cluster[Symbol.asyncDispose]();
});

/** A body that is not read yet. */
interface Unread extends Disposable {
  readonly body: Readable;
}

async function overHttp1(url: string, accept: string): Promise<Unread> {
  const agent = new https.Agent({ ca });
  const request = https.get({ host: "127.0.0.1", port: listening.port, path: url, headers: { accept }, agent });
  const [body] = (await once(request, "response")) as [Readable];
  return { body, [Symbol.dispose]: () => agent.destroy() };
}

async function overHttp2(url: string, accept: string): Promise<Unread> {
  const session = http2.connect(`https://127.0.0.1:${listening.port}`, { ca });
  const stream = session.request({ ":path": url, accept });
  await once(stream, "response");
  return { body: stream, [Symbol.dispose]: () => session.destroy() };
}

const table = "application/json;as=Table;g=meta.k8s.io;v=v1";
const partial = "as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
const forms = [
  { form: "JSON", open: overHttp1, accept: "application/json" },
  { form: "JSON", open: overHttp2, accept: "application/json" },
  { form: "a table", open: overHttp2, accept: table },
  { form: "metadata", open: overHttp1, accept: `application/json;${partial}` },
  { form: "protobuf", open: overHttp2, accept: "application/vnd.kubernetes.protobuf" },
  { form: "metadata in protobuf", open: overHttp1, accept: `application/vnd.kubernetes.protobuf;${partial}` },
];

/** More than the kernel buffers for both ends of a connection. */
const events = 110;
const padding = "x".repeat(150_000);

async function writeEvents(color: string): Promise<string[]> {
  const wanted: string[] = [];
  for (let n = 0; n < events; n++) {
    const name = `${color}-${n % 10}`;
    const matches = n % 3 !== 2;
    const metadata = { namespace, name, labels: { color: matches ? color : "none" }, annotations: { padding } };
    const { metadata: written } = await cluster.apply(ConfigMap, { metadata, data: { n: String(n) } });
    const last = Number(written.resourceVersion);
    const before = n >= 10 && (n - 10) % 3 !== 2;
    if (matches) wanted.push(`${before ? "MODIFIED" : "ADDED"} ${name} ${last}`);
    else if (before) wanted.push(`DELETED ${name} ${last}`);
  }
  return wanted;
}

test("a watcher that does not read for a while gets every event once it does, in every form", async () => {
  const query = `?watch=1&labelSelector=color=red&resourceVersion=${cluster.store.revision}`;
  const unread = await Promise.all(forms.map(({ open, accept }) => open(path + query, accept)));

  const lagging = () => cluster.api.objects.caches.reduce((sum, cache) => sum + cache.laggingWatchers, 0);
  const wanted = await writeEvents("red");
  assert.equal(lagging(), forms.length);
  const read = await Promise.all(unread.map(({ body }) => linesOf(body, wanted.length)));

  for (const [at, { form }] of forms.entries()) assert.deepEqual(read[at], wanted, form);
  for (let turns = 0; turns < 1000 && lagging() > 0; turns++) await turn();
  assert.equal(lagging(), 0);
  for (const each of unread) each[Symbol.dispose]();
  const metrics = cluster.api.metrics.render();
  assert.match(metrics, /^orlop_lagging_watchers 0$/m);
  assert.doesNotMatch(metrics, /^apiserver_terminated_watchers_total\{/m);
});

test("a watcher whose history expired while it did not read gets its buffered events, 410, and the end", async () => {
  const query = `?watch=1&labelSelector=color=blue&resourceVersion=${cluster.store.revision}`;
  const [quiet, loud] = await Promise.all([overHttp1(path + query, "application/json"), overHttp2(path, "*/*")]);
  loud[Symbol.dispose]();

  const wanted = await writeEvents("blue");
  // The history of the cache itself is limited by bytes.
  await writeEvents("green");
  await cluster.store.compact(cluster.store.revision);
  await cluster.clock.advance(5000);
  const read = await linesOf(quiet.body, Number.POSITIVE_INFINITY);

  assert(read.length > 1 && read.length < wanted.length, `${read.length} lines`);
  assert.deepEqual(read.slice(0, -1), wanted.slice(0, read.length - 1));
  assert.equal(read.at(-1), "ERROR Expired 410");
  assert.match(
    cluster.api.metrics.render(),
    /^apiserver_terminated_watchers_total\{group="",resource="configmaps"\} 1$/m,
  );
  quiet[Symbol.dispose]();
});

/** `TYPE name revision` of this many events, or of all until the end. */
async function linesOf(body: Readable, count: number): Promise<string[]> {
  const lines: string[] = [];
  let parts: Buffer[] = [];
  let size = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    parts.push(chunk);
    size += chunk.length;
    const [first] = parts;
    const isFrames = first?.[0] === 0;
    // Joining an incomplete chunk each time would cost more than everything else.
    if (isFrames ? first.length >= 4 && size < 4 + first.readUInt32BE(0) : !chunk.includes(10)) continue;
    const rest = isFrames ? takeFrames(Buffer.concat(parts), lines) : takeLines(Buffer.concat(parts), lines);
    if (lines.length >= count) break;
    parts = rest.length > 0 ? [rest] : [];
    size = rest.length;
  }
  return lines;
}

function takeLines(bytes: Buffer, lines: string[]): Buffer {
  let start = 0;
  for (let end = bytes.indexOf(10); end >= 0; end = bytes.indexOf(10, start)) {
    lines.push(lineOf(JSON.parse(bytes.toString("utf8", start, end)) as WireEvent));
    start = end + 1;
  }
  return bytes.subarray(start);
}

interface WireEvent {
  readonly type: string;
  readonly object: {
    readonly metadata: { readonly name?: string; readonly resourceVersion?: string };
    readonly rows?: readonly { readonly object: WireEvent["object"] }[];
    readonly reason?: string;
    readonly code?: number;
  };
}

function lineOf({ type, object }: WireEvent): string {
  if (type === "ERROR") return `${type} ${object.reason} ${object.code}`;
  const { metadata } = object.rows?.[0]?.object ?? object;
  return `${type} ${metadata.name} ${metadata.resourceVersion}`;
}

/** Frames begin with their length. Type, name and revision are found by their form. */
function takeFrames(bytes: Buffer, lines: string[]): Buffer {
  let start = 0;
  while (bytes.length - start >= 4 && bytes.length - start - 4 >= bytes.readUInt32BE(start)) {
    const end = start + 4 + bytes.readUInt32BE(start);
    const text = bytes.toString("latin1", start + 4, Math.min(end, start + 300));
    const tail = bytes.toString("latin1", start + 4, end).replaceAll(/x{100,}/g, "");
    const [type] = /ADDED|MODIFIED|DELETED/.exec(text) ?? [];
    const [name] = /(red|blue)-\d+/.exec(text) ?? [];
    const revision = /2.(\d+)B/s.exec(tail)?.[1];
    lines.push(`${type} ${name} ${revision}`);
    start = end;
  }
  return bytes.subarray(start);
}
