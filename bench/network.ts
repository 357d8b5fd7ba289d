/**
 * Prints what cluster DNS and the rules of services cost: `npm run bench -- network`. The second part needs root, ip and nft.
 *
 * DNS: questions that one second of CPU answers, for names of the cluster and for cached names of another server.
 * Services: from an endpoint that becomes ready to the first connection through the cluster address, among 1,000 services with
 * 10,000 endpoints, in a network namespace.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import path from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import { Service } from "#api/core/service.ts";
import { EndpointSlice } from "#api/discovery/endpoint-slice.ts";
import { recordTypes } from "#dns/message.ts";
import { encodeUpstreamQuery } from "#dns/upstream-answer.ts";
import { runCommand } from "#lib/process/processes.ts";
import { type Host } from "#proxy/apply.ts";
import { hostOf, RunningProxy } from "#testing/network/running-proxy.ts";
import { canMakeNetworks, createTestNetwork, type TestNetwork } from "#testing/network/test-network.ts";
import { usageOf } from "./lib/usage.ts";

export async function runNetwork(): Promise<void> {
  await measureDns();
  if (await canMakeNetworks()) await measureServices();
  else process.stdout.write("services: needs root, ip and nft\n");
}

const say = (text: string): void => void process.stdout.write(`${text}\n`);

interface DnsProcess extends AsyncDisposable {
  readonly pid: number;
  readonly port: number;
}

async function startDns(domain: string, services: Record<string, string>, upstream = ""): Promise<DnsProcess> {
  const script = path.resolve(import.meta.dirname, "../src/testing/network/dns-process.ts");
  const args = [script, "127.0.0.1", JSON.stringify(services), "127.0.0.0/8", upstream, domain];
  const child: ChildProcess = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "inherit"] });
  if (!child.stdout || child.pid === undefined) throw new Error("the DNS process did not start");
  const [port] = (await once(createInterface(child.stdout), "line")) as [string];
  return {
    pid: child.pid,
    port: Number(port),
    async [Symbol.asyncDispose]() {
      child.stdin?.end();
      await once(child, "exit");
    },
  };
}

const questions = 100_000;
/** Each client may ask 1,000 times a second, so there are many. */
const clients = 100;

async function measureDns(): Promise<void> {
  const services = Object.fromEntries(Array.from({ length: 200 }, (_, n) => [`s${n}`, `10.96.1.${n + 1}`]));
  await using upstream = await startDns("other.test", services);
  await using dns = await startDns("cluster.local", services, `127.0.0.1:${upstream.port}`);
  for (const [what, domain] of [
    ["names of the cluster", "cluster.local"],
    ["cached names of another server", "other.test"],
  ] as const) {
    const names = Object.keys(services).map((name) => `${name}.default.svc.${domain}`);
    await ask(dns.port, names, questions / 5); // Fills the cache, and lets the code get warm.
    const before = usageOf(dns.pid);
    const startMs = performance.now();
    const answered = await ask(dns.port, names, questions);
    const seconds = (performance.now() - startMs) / 1000;
    const cpuSeconds = (usageOf(dns.pid).cpuMs - before.cpuMs) / 1000;
    const perCpu = Math.round(answered / cpuSeconds);
    say(
      `DNS, ${what}: ${perCpu} questions per second of CPU (${Math.round(answered / seconds)}/s, ${answered} answers)`,
    );
  }
}

/** Keeps a few questions of each client on the way. Resolves with how many were answered. */
async function ask(port: number, names: readonly string[], count: number): Promise<number> {
  const queries = names.map((name, n) => encodeUpstreamQuery(n, queryFor(name)));
  let sent = 0;
  let answered = 0;
  const perClient = Array.from({ length: clients }, async (_, n) => {
    const socket = createSocket("udp4");
    socket.bind(0, `127.0.1.${n + 1}`);
    await once(socket, "listening");
    const done = Promise.withResolvers<void>();
    const own = { left: 0 };
    const next = (): void => {
      if (sent < count) {
        own.left++;
        socket.send(queries[sent++ % queries.length] ?? "", port, "127.0.0.1");
      } else if (own.left === 0) done.resolve();
    };
    let last = performance.now();
    const watch = setInterval(() => performance.now() - last > 1_000 && done.resolve(), 200); // Datagrams may be lost.
    socket.on("message", () => {
      last = performance.now();
      answered++;
      own.left--;
      next();
    });
    for (let i = 0; i < 4; i++) next();
    await done.promise;
    clearInterval(watch);
    socket.close();
  });
  await Promise.all(perClient);
  return answered;
}

const queryFor = (name: string) => ({
  question: { name, type: recordTypes.A, class: 1 },
  dnssec: false,
  checkingDisabled: false,
});

const rounds = 20;

async function measureServices(): Promise<void> {
  await using network = await createTestNetwork();
  // As the proxy runs nft: `ip netns exec` would add a second program and new mounts to each run.
  const run: Host["run"] = async (command, args, input) => {
    const inNode = [`--net=/run/netns/${network.node.namespace}`, command, ...args];
    return (await runCommand("nsenter", inNode, { input })).stdout;
  };
  const proxy = new RunningProxy(network, { ...hostOf(network.node), run });
  await network.pods[0].listen("tcp", { port: 8080, name: "pod-a" });
  for (let n = 0; n < 1_000; n++) putMany(proxy, n);
  await proxy.start();
  const times: number[] = [];
  for (let round = 0; round < rounds; round++) times.push(await untilConnected(proxy, network, round));
  times.sort((a, b) => a - b);
  const at = (part: number) => (times[Math.floor(times.length * part)] ?? 0).toFixed(1);
  say(`services: ready to connected p50 ${at(0.5)} ms, p90 ${at(0.9)} ms at 1,000 services and 10,000 endpoints`);
  await proxy.stop();
}

const endpointsOf = (n: number, count: number) =>
  Array.from({ length: count }, (_, i) => ({
    addresses: [`10.93.${n >> 4}.${((n & 15) << 4) + i}`],
    nodeName: "other",
    conditions: { ready: true },
  }));

function putMany({ informers }: RunningProxy, n: number): void {
  const name = `many-${n}`;
  informers.put(Service, serviceOf(name, `10.94.${n >> 8}.${n & 255}`));
  informers.put(EndpointSlice, sliceOf(name, endpointsOf(n, 10)));
}

const serviceOf = (name: string, clusterIP: string) => ({
  metadata: { namespace: "default", name },
  spec: {
    ...{ type: "ClusterIP" as const, sessionAffinity: "None" as const, clusterIP, clusterIPs: [clusterIP] },
    ports: [{ port: 80, protocol: "TCP" as const, targetPort: 8080 }],
  },
  status: { loadBalancer: {} },
});

const sliceOf = (name: string, endpoints: ReturnType<typeof endpointsOf>) => ({
  metadata: { namespace: "default", name, labels: { "kubernetes.io/service-name": name } },
  addressType: "IPv4" as const,
  ports: [{ name: "", protocol: "TCP" as const, port: 8080 }],
  endpoints,
});

/** A service has no endpoint; then one is ready, and a client tries until it is connected. */
async function untilConnected(proxy: RunningProxy, network: TestNetwork, round: number): Promise<number> {
  const [name, address] = [`first-${round}`, `10.92.0.${round + 10}`];
  const applied = proxy.applied();
  proxy.informers.put(Service, serviceOf(name, address));
  await applied;
  await pause(300); // Also the transaction of the last round may have just begun.
  const ready = [{ addresses: [network.pods[0].address], nodeName: "node-1", conditions: { ready: true } }];
  const startMs = performance.now();
  proxy.informers.put(EndpointSlice, sliceOf(name, ready));
  // A client that tried without a pause would need the CPU that the proxy needs.
  while (!(await network.pods[2].ask("tcp", address, 80)).startsWith("pod-a")) await pause(1);
  return performance.now() - startMs;
}
