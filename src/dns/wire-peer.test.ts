import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { seededRandom } from "#lib/data/random.ts";
import { silentLog } from "#lib/process/log.ts";
import { dnsPacket, type PeerRecord } from "#testing/peers/dns-packet.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { Forwarder } from "./forward.ts";
import { type DnsRecord, WireError } from "./message.ts";
import { type ClusterView } from "./records.ts";
import { createResolver } from "./resolver.ts";
import { decodeUpstreamAnswer, isAnswerTo } from "./upstream-answer.ts";
import { decodeQuery, WireReader } from "./wire-reader.ts";
import { encodeAnswer } from "./wire-writer.ts";

const label = fc.stringMatching(/^[a-z0-9_]([-a-z0-9]{0,20}[a-z0-9])?$/);
const name = fc.array(label, { minLength: 1, maxLength: 6 }).map((labels) => labels.join("."));
const uint = (bits: number) => fc.integer({ min: 0, max: 2 ** bits - 1 });

const data = fc.oneof(
  fc.record({ type: fc.constant("A" as const), address: fc.ipV4() }),
  fc.record({ type: fc.constant("AAAA" as const), address: fc.ipV6() }),
  fc.record({ type: fc.constantFrom("CNAME" as const, "PTR" as const, "NS" as const), target: name }),
  fc.record({ type: fc.constant("SRV" as const), priority: uint(16), weight: uint(16), port: uint(16), target: name }),
  fc.record({
    type: fc.constant("TXT" as const),
    texts: fc.array(fc.stringMatching(/^[ -~]{0,40}$/), { minLength: 1 }),
  }),
);
const record: fc.Arbitrary<DnsRecord> = fc.record({ name, ttl: uint(31), data });

/** A record in dns-packet's form. */
function asPeer({ name: called, ttl, data: given }: DnsRecord): unknown {
  const head = { name: called, type: given.type, ttl };
  switch (given.type) {
    case "A":
      return { ...head, data: given.address };
    case "AAAA":
      return { ...head, data: hexOf(given.address) };
    case "SRV":
      return {
        ...head,
        data: { priority: given.priority, weight: given.weight, port: given.port, target: given.target },
      };
    case "TXT":
      return { ...head, data: given.texts };
    default:
      return { ...head, data: "target" in given ? given.target : undefined };
  }
}

/** The 16 bytes of an address, computed by the platform's own parser. */
function hexOf(address: string): string {
  const groups = new URL(`http://[${address}]/`).hostname.slice(1, -1).split("::");
  const [left = [], right = []] = groups.map((half) => (half ? half.split(":") : []));
  const zeros = groups.length > 1 ? Array<string>(8 - left.length - right.length).fill("0") : [];
  return [...left, ...zeros, ...right].map((group) => group.padStart(4, "0")).join("");
}

function simplified({ name: called, type, ttl, data: given }: PeerRecord): unknown {
  if (type === "AAAA") return { name: called, type, ttl, data: hexOf(String(given)) };
  if (type === "TXT") return { name: called, type, ttl, data: [given].flat().map(String) };
  return { name: called, type, ttl, data: given };
}

test("dns-packet reads what encodeAnswer() writes", () => {
  fc.assert(
    fc.property(name, fc.array(record, { maxLength: 8 }), (asked, answers) => {
      const query = decodeQuery(dnsPacket.encode({ type: "query", id: 7, questions: [{ type: "A", name: asked }] }));
      const read = dnsPacket.decode(encodeAnswer(query, { rcode: 0, authoritative: true, answers }, 65_535));

      assert.deepEqual(read.questions, [{ name: asked, type: "A", class: "IN" }]);
      assert.deepEqual(read.answers?.map(simplified), answers.map(asPeer));
    }),
  );
});

test("decodeQuery() and decodeUpstreamAnswer() read what dns-packet writes", () => {
  fc.assert(
    fc.property(name, uint(16), fc.array(fc.tuple(name, fc.ipV4()), { maxLength: 20 }), (asked, id, addresses) => {
      const questions = [{ type: "A", name: asked }] as const;
      const query = decodeQuery(dnsPacket.encode({ type: "query", id, questions: [...questions] }));
      const answers = addresses.map(([owner, given]) => ({ type: "A", name: owner, ttl: 30, data: given }) as const);
      const bytes = dnsPacket.encode({ type: "response", id, questions: [...questions], answers });

      assert.deepEqual([query.id, query.question], [id, { name: asked, type: 1, class: 1 }]);
      assert(isAnswerTo(bytes, id, { name: asked.toUpperCase(), type: 1, class: 1 }));
      assert.equal(decodeUpstreamAnswer(bytes).ttlsAt.length, addresses.length);
    }),
  );
});

const view: ClusterView = {
  hasNamespace: () => true,
  service: () => undefined,
  slices: () => [],
  servicesAt: () => [],
  slicesAt: () => [],
};
const zone = { domain: "cluster.local", serverAddress: "10.96.0.10", ttl: 5, serial: 1, isOwnAddress: () => true };
function resolverThatLogs(errors: string[]) {
  const log = { ...silentLog, error: (message: string) => errors.push(message) };
  const clock = createVirtualClock();
  const signal = new AbortController().signal;
  const forwarder = new Forwarder({ clock, log, random: seededRandom(1), upstreams: [], signal });
  return createResolver({ view, zone, forwarder: () => forwarder, log });
}

/** Messages that start correctly and are damaged somewhere. */
const spoilt = fc
  .tuple(name, fc.array(fc.tuple(uint(16), uint(8)), { maxLength: 12 }), fc.uint8Array({ maxLength: 80 }), uint(12))
  .map(([asked, changes, tail, length]) => {
    const good = dnsPacket.encode({ type: "query", id: 1, questions: [{ type: "A", name: asked }] });
    const bytes = Buffer.concat([good, tail]);
    for (const [at, byte] of changes) bytes[at % bytes.length] = byte;
    return length % 3 === 0 ? bytes.subarray(0, length % bytes.length) : bytes;
  });

test("no message makes the resolver throw", async () => {
  const errors: string[] = [];
  const resolver = resolverThatLogs(errors);

  await fc.assert(
    fc.asyncProperty(fc.oneof(spoilt, fc.uint8Array({ maxLength: 600 }).map(Buffer.from)), async (bytes) => {
      for (const transport of ["udp", "tcp"] as const) await resolver(bytes, { transport, mayWait: true });
    }),
    { numRuns: 2_000 },
  );
  assert.deepEqual(errors, []);
});

/** Counts how often bytes of the message are read. */
function counted(bytes: Buffer): { bytes: Buffer; looks(): number } {
  let looks = 0;
  const proxy = new Proxy(bytes, {
    get(target, key) {
      if (typeof key === "string" && /^\d+$/.test(key)) looks++;
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  return { bytes: proxy, looks: () => looks };
}

test("a chain of pointers through the whole message ends early", () => {
  const bytes = Buffer.alloc(8_192);
  for (let at = 2; at < bytes.length; at += 2) bytes.writeUInt16BE(0xc000 | (at - 2), at);
  const { bytes: watched, looks } = counted(bytes);

  assert.throws(() => new WireReader(watched, 8_190).name(), WireError);
  assert(looks() < 300, `${looks()} looks`);
});

test("a message that announces 65,535 questions gets a format error", async () => {
  const bytes = Buffer.alloc(4_096);
  bytes.writeUInt16BE(0xffff, 4);

  const answer = await resolverThatLogs([])(bytes, { transport: "udp", mayWait: true });

  assert.equal(answer && (answer[3] ?? 0) & 0xf, 1);
});

test("the resolver answers for the cluster's names also when no question may wait for another server", () => {
  const resolver = resolverThatLogs([]);
  const ask = (asked: string) =>
    resolver(dnsPacket.encode({ type: "query", id: 1, questions: [{ type: "A", name: asked }] }), {
      transport: "udp",
      mayWait: false,
    });

  assert(Buffer.isBuffer(ask("web.default.svc.cluster.local")));
  assert.equal(ask("example.com"), undefined);
});
