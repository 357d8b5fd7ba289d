import assert from "node:assert/strict";
import { createSocket, type Socket as DatagramSocket } from "node:dgram";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { test } from "node:test";
import { Service } from "#api/core/service.ts";
import { nextTurn } from "#lib/async/turns.ts";
import { seededRandom } from "#lib/data/random.ts";
import { type Log, silentLog } from "#lib/process/log.ts";
import { build } from "#testing/build.ts";
import { dnsPacket } from "#testing/peers/dns-packet.ts";
import { createVirtualClock, type VirtualClock } from "#testing/virtual-clock.ts";
import { ClientLimits } from "./client-limits.ts";
import { Forwarder } from "./forward.ts";
import { ownClients } from "./own-clients.ts";
import { type ClusterView } from "./records.ts";
import { createResolver } from "./resolver.ts";
import { type DnsServer, openDnsServer } from "./server.ts";
import { DnsMessageReader, frame } from "./upstream.ts";

const view: ClusterView = {
  hasNamespace: () => true,
  service: (namespace, name) =>
    build(Service, {
      metadata: { namespace, name },
      spec:
        name === "web"
          ? { type: "ClusterIP", sessionAffinity: "None", clusterIP: "10.96.0.7" }
          : { type: "ExternalName", sessionAffinity: "None", externalName: externalNames[name] ?? "" },
      status: { loadBalancer: {} },
    }),
  slices: () => [],
  servicesAt: () => [],
  slicesAt: () => [],
};
const externalNames: Record<string, string> = {
  "long-label": `${"a".repeat(64)}.example.test`,
  "long-name": `${"a".repeat(60)}.`.repeat(5).slice(0, -1),
  dots: "a..b",
};
const zone = { domain: "cluster.local", serverAddress: "10.96.0.10", ttl: 5, serial: 1, isOwnAddress: () => true };

interface Running extends AsyncDisposable {
  readonly server: DnsServer;
  readonly clock: VirtualClock;
}

async function start(options: { upstreams?: string[]; log?: Log; isClient?: () => boolean } = {}): Promise<Running> {
  const { upstreams = [], log = silentLog, isClient = () => true } = options;
  const clock = createVirtualClock();
  const stop = new AbortController();
  const forwarder = new Forwarder({ clock, log, random: seededRandom(1), upstreams, signal: stop.signal });
  const resolver = createResolver({ view, zone, forwarder: () => forwarder, log });
  const server = await openDnsServer({ resolver, clock, log, isClient }, { address: "127.0.0.1", port: 0 });
  return {
    ...{ server, clock },
    async [Symbol.asyncDispose]() {
      stop.abort();
      await server[Symbol.asyncDispose]();
    },
  };
}

const question = (name: string, id = 1): Buffer =>
  dnsPacket.encode({ type: "query", id, questions: [{ type: "A", name }] });
const web = "web.shop.svc.cluster.local";

async function openConnection({ server }: Running, localAddress: string): Promise<Socket> {
  const socket = connect({ port: server.port, host: "127.0.0.1", localAddress });
  socket.on("error", () => {});
  await once(socket, "connect");
  return socket;
}

/** The response code of a question over the connection, or `closed`. */
async function askOver(socket: Socket, name: string): Promise<string> {
  const frames = new DnsMessageReader();
  socket.write(frame(question(name)));
  for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
    for (const message of frames.push(chunk)) return dnsPacket.decode(message).rcode ?? "";
  }
  return "closed";
}

async function askByDatagram({ server }: Running, name: string): Promise<string> {
  const socket: DatagramSocket = createSocket("udp4");
  socket.send(question(name), server.port, "127.0.0.1");
  const [message] = (await once(socket, "message")) as [Buffer];
  socket.close();
  return dnsPacket.decode(message).rcode ?? "";
}

test("an alias that DNS cannot encode is a failure, without a log line", async () => {
  const lines: string[] = [];
  const note = (message: string) => void lines.push(message);
  await using dns = await start({ log: { ...silentLog, info: note, warn: note, error: note } });

  for (const name of Object.keys(externalNames)) {
    assert.equal(await askByDatagram(dns, `${name}.shop.svc.cluster.local`), "SERVFAIL", name);
  }
  assert.deepEqual(lines, []);
});

test("a question that cannot be sent, or gets no answer, does not block an upstream for others", async () => {
  const upstream = createSocket("udp4");
  upstream.bind(0, "127.0.0.1");
  await once(upstream, "listening");
  upstream.on("message", (message, from) => {
    const { id, questions } = dnsPacket.decode(message);
    if (questions[0]?.name.startsWith("tarpit")) return;
    upstream.send(dnsPacket.encode({ type: "response", id, questions, answers: [] }), from.port, from.address);
  });
  await using dns = await start({ upstreams: [`127.0.0.1:${upstream.address().port}`] });
  let tarpit = "";
  void askByDatagram(dns, "tarpit.example.test").then((code) => {
    tarpit = code;
  });
  while (!tarpit) {
    await dns.clock.advance(1_500);
    await nextTurn();
  }
  assert.equal(tarpit, "SERVFAIL");

  assert.equal(await askByDatagram(dns, "long-label.shop.svc.cluster.local"), "SERVFAIL");
  assert.equal(await askByDatagram(dns, "good.example.test"), "NOERROR");
  upstream.close();
});

test("a client that hoards connections is the only one to run out of them", async () => {
  await using dns = await start();
  const hoard: Socket[] = [];
  let closed = 0;
  for (let index = 0; index < 60; index++) {
    const socket = await openConnection(dns, "127.0.0.66");
    socket.on("close", () => closed++);
    socket.resume();
    socket.write(Buffer.from([0]));
    hoard.push(socket);
  }
  const [first] = hoard;
  if (first && !first.closed) await once(first, "close");

  const victim = await openConnection(dns, "127.0.0.2");
  assert.equal(await askOver(victim, web), "NOERROR");
  assert(closed >= 1 && closed <= 28, `${closed} of the first connections were closed for the last`);
  for (const socket of [...hoard, victim]) socket.destroy();
});

test("with 500 connections of many clients, the one idle the longest makes room", async () => {
  await using dns = await start();
  const others: Socket[] = [];
  for (let index = 0; index < 500; index++) {
    others.push(await openConnection(dns, `127.0.1.${1 + (index % 25)}`));
    await dns.clock.advance(1);
  }
  const oldest = once(others[0] ?? process, "close");
  others[0]?.resume();

  const victim = await openConnection(dns, "127.0.0.2");

  assert.equal(await askOver(victim, web), "NOERROR");
  await oldest;
  for (const socket of [...others, victim]) socket.destroy();
});

test("single bytes do not keep a connection open", async () => {
  await using dns = await start();
  const socket = await openConnection(dns, "127.0.0.1");
  assert.equal(await askOver(socket, web), "NOERROR");
  const closed = once(socket, "close");
  socket.resume();
  let sent = 0;
  while (!socket.destroyed && sent < 10) {
    socket.write(Buffer.from([0]));
    sent++;
    await Promise.race([closed, dns.clock.advance(2_000)]);
    await nextTurn();
  }
  await closed;

  assert(sent < 10, `${sent} bytes, one every two seconds`);
});

test("a message that is too long for a question closes the connection before it is read", async () => {
  await using dns = await start();
  const socket = await openConnection(dns, "127.0.0.1");
  socket.resume();

  socket.write(Buffer.from([0xff, 0xff]));

  await once(socket, "close");
});

test("strangers get no answer, over UDP or TCP", async () => {
  let asked = 0;
  const isClient = (): boolean => {
    asked++;
    return false;
  };
  await using dns = await start({ isClient });
  const udp = createSocket("udp4");
  udp.on("message", () => assert.fail("an answer"));
  udp.send(question(web), dns.server.port, "127.0.0.1");
  const socket = await openConnection(dns, "127.0.0.1");

  assert.equal(await askOver(socket, web), "closed");
  udp.close();
  assert(asked >= 1);
});

test("ownClients() accepts only pods and this machine", async () => {
  const clock = createVirtualClock();
  let reads = 0;
  const own = ["192.0.2.10", "2001:db8::10"];
  const ownAddresses = () => {
    reads++;
    return own;
  };
  const isClient = ownClients({ clock, podCidrs: ["10.244.0.0/16", "fd00:1::/64"], ownAddresses });

  for (const address of ["10.244.3.4", "::ffff:10.244.3.4", "fd00:1::9", "127.0.0.1", "::1", ...own]) {
    assert(isClient(address), address);
  }
  for (const address of ["192.0.2.11", "10.96.0.10", "8.8.8.8", "fd00:2::1", "", "junk"]) assert(!isClient(address));
  assert.equal(reads, 1);
  own.push("192.0.2.11");
  await clock.advance(10_000);
  assert(isClient("192.0.2.11"), "a new address");
});

test("ClientLimits allows a client a burst of 2,000 and then 1,000 questions per second, independent of others", async () => {
  const clock = createVirtualClock();
  const limits = new ClientLimits(clock);
  const count = (address: string): number => {
    let admitted = 0;
    for (let index = 0; index < 10_000; index++) if (limits.admit(address)) admitted++;
    return admitted;
  };

  assert.equal(count("10.244.0.1"), 2_000);
  await clock.advance(1_000);
  assert.equal(count("10.244.0.1"), 1_000);
  assert.equal(count("10.244.0.2"), 2_000);
});

test("ClientLimits lets 100 questions of a client wait, and fewer when many wait", async () => {
  const limits = new ClientLimits(createVirtualClock());
  const never = new Promise<never>(() => {});
  const waitingOf = (address: string): number => {
    for (let waiting = 0; ; waiting++) {
      const client = limits.admit(address);
      if (!client || !limits.mayWait(client)) return waiting;
      void limits.wait(client, never);
    }
  };

  assert.equal(waitingOf("10.244.0.1"), 100);
  for (let last = 2; last <= 5; last++) waitingOf(`10.244.0.${last}`);
  assert.equal(waitingOf("10.244.0.6"), 10);
  for (let last = 7; last <= 200; last++) waitingOf(`10.244.0.${last}`);
  assert.equal(waitingOf("10.244.1.1"), 0);
  assert(limits.admit("10.244.1.1"), "a question that need not wait is answered all the same");
});
