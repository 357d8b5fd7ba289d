import assert from "node:assert/strict";
import { createSocket } from "node:dgram";
import { Resolver } from "node:dns/promises";
import { once } from "node:events";
import { connect } from "node:net";
import { test } from "node:test";
import { ConfigMap } from "#api/core/config-map.ts";
import { Namespace } from "#api/core/namespace.ts";
import { Service } from "#api/core/service.ts";
import { EndpointSlice } from "#api/discovery/endpoint-slice.ts";
import { systemClock } from "#lib/async/clock.ts";
import { type Log, silentLog } from "#lib/process/log.ts";
import { createFakeInformers, type FakeInformers } from "#testing/fake-informers.ts";
import { type DnsDeps, runDns } from "./dns.ts";
import { DnsMessageReader } from "./upstream.ts";

interface Running extends AsyncDisposable {
  readonly port: number;
  readonly informers: FakeInformers;
  /** Node's own resolver, as an independent client. */
  readonly client: Resolver;
}

async function start(deps: Partial<DnsDeps> = {}): Promise<Running> {
  const informers = createFakeInformers();
  informers.put(Namespace, { metadata: { name: "shop" }, spec: {}, status: {} });
  const stop = new AbortController();
  const listening = Promise.withResolvers<number>();
  const ended = runDns(
    {
      ...{ informers, clock: systemClock, log: silentLog, clusterDomain: "cluster.local", upstreams: [] },
      listen: { address: "127.0.0.1", port: 0 },
      onListening: ({ port }) => listening.resolve(port),
      ...deps,
    },
    stop.signal,
  );
  ended.catch(listening.reject);
  const port = await listening.promise;
  const client = new Resolver({ timeout: 60_000, tries: 1 });
  client.setServers([`127.0.0.1:${port}`]);
  return {
    ...{ port, informers, client },
    async [Symbol.asyncDispose]() {
      stop.abort();
      await ended;
    },
  };
}

function putService(
  { informers }: Running,
  name: string,
  spec: Partial<Service["spec"]>,
  addresses: string[] = [],
): void {
  informers.put(Service, {
    metadata: { namespace: "shop", name },
    spec: { type: "ClusterIP", sessionAffinity: "None", ...spec },
    status: { loadBalancer: {} },
  });
  informers.put(EndpointSlice, {
    metadata: { namespace: "shop", name, labels: { "kubernetes.io/service-name": name } },
    addressType: "IPv4",
    ports: [{ name: "http", protocol: "TCP", port: 8080 }],
    endpoints: addresses.map((address) => ({ addresses: [address], conditions: { ready: true } })),
  });
}

const codeOf = async (answer: Promise<unknown>): Promise<unknown> => {
  try {
    return await answer;
  } catch (error) {
    return error instanceof Error && "code" in error ? error.code : error;
  }
};
/** An address on which nothing listens. */
async function deadServer(): Promise<string> {
  const socket = createSocket("udp4");
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  const { port } = socket.address();
  socket.close();
  await once(socket, "close");
  return `127.0.0.1:${port}`;
}

const addressOf = (running: Running): string => `127.0.0.1:${running.port}`;

test("an ordinary resolver finds a service by name, port and address", async () => {
  await using dns = await start();
  const ports = [{ name: "http", protocol: "TCP", port: 80, targetPort: 8080 }] as const;
  putService(dns, "web", { clusterIP: "10.96.0.7", clusterIPs: ["10.96.0.7"], ports: [...ports] });
  const { client } = dns;

  assert.deepEqual(await client.resolve4("web.shop.svc.cluster.local"), ["10.96.0.7"]);
  const [srv] = await client.resolveSrv("_http._tcp.web.shop.svc.cluster.local");
  assert.deepEqual([srv?.name, srv?.port, srv?.priority, srv?.weight], ["web.shop.svc.cluster.local", 80, 0, 100]);
  assert.deepEqual(await client.reverse("10.96.0.7"), ["web.shop.svc.cluster.local"]);
  assert.deepEqual(await client.resolveTxt("dns-version.cluster.local"), [["1.1.0"]]);
  assert.equal((await client.resolveSoa("cluster.local")).minttl, 5);
  assert.equal(await codeOf(client.resolve6("web.shop.svc.cluster.local")), "ENODATA");
  assert.equal(await codeOf(client.resolve4("none.shop.svc.cluster.local")), "ENOTFOUND");
});

test("an answer that is too large for UDP comes over TCP", async () => {
  await using dns = await start();
  const addresses = Array.from({ length: 300 }, (_, index) => `10.244.${index >> 8}.${index & 255}`);
  putService(dns, "many", { clusterIP: "None" }, addresses);

  const found = await dns.client.resolve4("many.shop.svc.cluster.local");

  assert.deepEqual(found.sort(), addresses.sort());
});

test("the first address rotates", async () => {
  await using dns = await start();
  putService(dns, "few", { clusterIP: "None" }, ["10.244.0.1", "10.244.0.2", "10.244.0.3"]);

  const firsts = new Set<string | undefined>();
  for (let round = 0; round < 6; round++) {
    firsts.add((await dns.client.resolve4("few.shop.svc.cluster.local"))[0]);
  }
  assert.equal(firsts.size, 3);
});

test("other names are forwarded, with small and large answers, and cached", async () => {
  await using upstream = await start({ clusterDomain: "example.test" });
  putService(upstream, "www", { clusterIP: "192.0.2.80", clusterIPs: ["192.0.2.80"] });
  const addresses = Array.from({ length: 200 }, (_, index) => `192.0.2.${index}`);
  putService(upstream, "large", { clusterIP: "None" }, addresses);
  await using dns = await start({ upstreams: [addressOf(upstream)] });

  assert.deepEqual(await dns.client.resolve4("www.shop.svc.example.test"), ["192.0.2.80"]);
  assert.equal((await dns.client.resolve4("large.shop.svc.example.test")).length, 200);
  assert.equal(await codeOf(dns.client.resolve4("no.shop.svc.example.test")), "ENOTFOUND");
  assert.equal(await codeOf(dns.client.resolve6("www.shop.svc.example.test")), "ENODATA");

  upstream.informers.delete(Service, { namespace: "shop", name: "www" });
  assert.deepEqual(await dns.client.resolve4("WWW.shop.svc.example.test"), ["192.0.2.80"]);
});

test("an ExternalName service is resolved through the upstream", async () => {
  await using upstream = await start({ clusterDomain: "example.test" });
  putService(upstream, "www", { clusterIP: "192.0.2.80", clusterIPs: ["192.0.2.80"] });
  await using dns = await start({ upstreams: [addressOf(upstream)] });
  putService(dns, "away", { type: "ExternalName", externalName: "www.shop.svc.example.test" });

  assert.deepEqual(await dns.client.resolve4("away.shop.svc.cluster.local"), ["192.0.2.80"]);
  assert.deepEqual(await dns.client.resolveCname("away.shop.svc.cluster.local"), ["www.shop.svc.example.test"]);
});

test("a stub domain has its own servers, as soon as the ConfigMap kube-dns names them", async () => {
  await using corp = await start({ clusterDomain: "corp.test" });
  putService(corp, "wiki", { clusterIP: "192.0.2.9", clusterIPs: ["192.0.2.9"] });
  await using dns = await start();
  const before = await codeOf(dns.client.resolve4("wiki.shop.svc.corp.test"));
  dns.informers.put(ConfigMap, {
    metadata: { namespace: "kube-system", name: "kube-dns" },
    data: { stubDomains: JSON.stringify({ "corp.test": [addressOf(corp)] }) },
  });

  assert.equal(before, "ESERVFAIL");
  assert.deepEqual(await dns.client.resolve4("wiki.shop.svc.corp.test"), ["192.0.2.9"]);
  assert.equal(await codeOf(dns.client.resolve4("wiki.shop.svc.other.test")), "ESERVFAIL");
});

test("without an upstream, and with a dead one, the answer is a failure", async () => {
  const dead = await deadServer();
  await using alone = await start();
  await using lost = await start({ upstreams: [dead] });

  assert.equal(await codeOf(alone.client.resolve4("www.example.test")), "ESERVFAIL");
  assert.equal(await codeOf(lost.client.resolve4("www.example.test")), "ESERVFAIL");
});

test("the second upstream answers if the first does not", async () => {
  await using good = await start({ clusterDomain: "example.test" });
  putService(good, "www", { clusterIP: "192.0.2.80", clusterIPs: ["192.0.2.80"] });
  const dead = await deadServer();
  await using dns = await start({ upstreams: [dead, addressOf(good)] });

  assert.deepEqual(await dns.client.resolve4("www.shop.svc.example.test"), ["192.0.2.80"]);
});

test("an upstream that forwards back to us is detected", async () => {
  const errors: string[] = [];
  const log: Log = { ...silentLog, error: (message) => errors.push(message) };
  const relay = createSocket("udp4");
  relay.bind(0, "127.0.0.1");
  await once(relay, "listening");
  await using dns = await start({ upstreams: [`127.0.0.1:${relay.address().port}`], log });
  relay.on("message", (message, from) => {
    if (from.port !== dns.port) relay.send(message, dns.port, "127.0.0.1");
  });

  assert.equal(await codeOf(dns.client.resolve4("www.example.test")), "ESERVFAIL");
  assert.deepEqual(errors, ["the upstream DNS server forwards to this one"]);
  relay.close();
});

test("malformed messages do no harm", async () => {
  await using dns = await start();
  putService(dns, "web", { clusterIP: "10.96.0.7", clusterIPs: ["10.96.0.7"] });
  const udp = createSocket("udp4");
  for (const text of ["", "00", "ffffffffffffffffffffffffffffffff", "abcd01000001000000000000c00c00010001"]) {
    udp.send(Buffer.from(text, "hex"), dns.port, "127.0.0.1");
  }
  const [answer] = (await once(udp, "message")) as [Buffer];
  udp.close();
  const tcp = connect(dns.port, "127.0.0.1");
  tcp.write(Buffer.from("0002ffff", "hex"));
  await once(tcp, "close");

  assert.equal(answer.toString("hex"), "abcd81810000000000000000", "a format error");
  assert.deepEqual(await dns.client.resolve4("web.shop.svc.cluster.local"), ["10.96.0.7"]);
});

test("one connection can carry many questions", async () => {
  await using dns = await start();
  putService(dns, "web", { clusterIP: "10.96.0.7", clusterIPs: ["10.96.0.7"] });
  const question = Buffer.from("037765620473686f700373766307636c7573746572056c6f63616c0000010001", "hex");
  const tcp = connect(dns.port, "127.0.0.1");
  const frames = new DnsMessageReader();
  const ids: number[] = [];
  for (let id = 1; id <= 20; id++) {
    const head = Buffer.alloc(14);
    head.writeUInt16BE(12 + question.length);
    head.writeUInt16BE(id, 2);
    head.writeUInt16BE(1, 6);
    tcp.write(Buffer.concat([head, question]));
  }
  for await (const chunk of tcp) {
    for (const message of frames.push(chunk)) ids.push(message.readUInt16BE(0));
    if (ids.length === 20) break;
  }

  assert.deepEqual(
    ids,
    Array.from({ length: 20 }, (_, index) => index + 1),
  );
});
