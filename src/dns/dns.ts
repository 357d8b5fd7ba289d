import { Node } from "#api/core/node.ts";
import { type Clock } from "#lib/async/clock.ts";
import { aborted } from "#lib/async/tasks.ts";
import { equal } from "#lib/data/equal.ts";
import { type Random, secureRandom } from "#lib/data/random.ts";
import { ownAddresses, parseCidr } from "#lib/net/ip.ts";
import { type Log } from "#lib/process/log.ts";
import { type Informers } from "#runtime/informer.ts";
import { openClusterView } from "./cluster-view.ts";
import { type DnsConfig, followDnsConfig } from "./dns-config.ts";
import { Forwarder } from "./forward.ts";
import { ownClients } from "./own-clients.ts";
import { type Zone } from "./records.ts";
import { createResolver } from "./resolver.ts";
import { type DnsServer, type ListenAddress, openDnsServer } from "./server.ts";

export interface DnsDeps {
  readonly informers: Informers;
  readonly clock: Clock;
  readonly log: Log;
  readonly listen: ListenAddress;
  /** `cluster.local` */
  readonly clusterDomain: string;
  /** The servers for all other names; `hostUpstreams()` returns the machine's own. */
  readonly upstreams: readonly string[];
  /** The address at which pods find this server, which must not be used as an upstream. */
  readonly clusterIP?: string;
  /** Ranges whose addresses have names only in this cluster. */
  readonly cidrs?: readonly string[];
  /** The ranges of pods: only they and this machine get answers. */
  readonly podCidrs?: readonly string[];
  /** For the ids and ports of upstream questions, which others must not guess. */
  readonly random?: Random;
  /** Called when the server listens. */
  onListening?(at: { address: string; port: number }): void | Promise<void>;
}

/** How long clients may cache the cluster's answers. */
const ttlSeconds = 5;

/** Answers the cluster's names and forwards all others, until the signal. */
export async function runDns(deps: DnsDeps, signal: AbortSignal): Promise<void> {
  const { informers, clock, log, random = secureRandom } = deps;
  using view = openClusterView(informers);
  await informers.synced(signal);
  const forwarderFor = ({ upstreams = deps.upstreams, stubDomains }: DnsConfig) =>
    new Forwarder({
      ...{ clock, log, random, signal, stubDomains },
      upstreams: upstreams.filter((upstream) => upstream !== deps.clusterIP),
    });
  let forwarder = forwarderFor({ upstreams: undefined, stubDomains: {} });
  const use = (config: DnsConfig): void => {
    forwarder = forwarderFor(config);
  };
  using following = new DisposableStack();
  following.defer(await followDnsConfig({ informers, log }, use, signal));
  const resolver = createResolver({ view, zone: zoneOf(deps), forwarder: () => forwarder, log });
  using nodes = nodeAddresses(informers);
  const isClient = ownClients({ clock, podCidrs: deps.podCidrs ?? [], ownAddresses, isNode: nodes.has });
  await using server: DnsServer = await openDnsServer({ resolver, clock, log, isClient }, deps.listen);
  log.info("DNS listens", { address: server.address, port: server.port });
  await deps.onListening?.({ address: server.address, port: server.port });
  await aborted(signal);
}

/** The addresses that nodes report, kept up to date. */
function nodeAddresses(informers: Informers): Disposable & { has(address: string): boolean } {
  const byNode = new Map<string, readonly string[]>();
  let all = new Set<string>();
  const stop = informers.of(Node).subscribe(({ type, object: { metadata, status } }) => {
    const addresses = type === "put" ? (status?.addresses ?? []).map(({ address }) => address) : [];
    if (equal(byNode.get(metadata.name), addresses)) return;
    byNode.set(metadata.name, addresses);
    if (type === "delete") byNode.delete(metadata.name);
    all = new Set([...byNode.values()].flat());
  });
  return { has: (address) => all.has(address), [Symbol.dispose]: stop };
}

function zoneOf({ clusterDomain, clusterIP, cidrs = [], clock }: DnsDeps): Zone {
  const ranges = cidrs.filter((cidr) => !cidr.includes(":")).map(parseCidr);
  return {
    domain: clusterDomain.toLowerCase().replace(/\.$/, ""),
    serverAddress: clusterIP,
    ttl: ttlSeconds,
    serial: Math.floor(clock.now() / 1000),
    isOwnAddress: (address) => ranges.some((range) => range.contains(address)),
  };
}
