import { isIP } from "node:net";
import { ConfigMap } from "#api/core/config-map.ts";
import { equal } from "#lib/data/equal.ts";
import { isObject } from "#lib/data/json-object.ts";
import { type Log } from "#lib/process/log.ts";
import { type Informers } from "#runtime/informer.ts";
import { parseUpstream } from "./upstream.ts";

/** Which servers are asked for names outside the cluster. */
export interface DnsConfig {
  /** Undefined: the machine's own. */
  readonly upstreams: readonly string[] | undefined;
  /** Other servers for names below these domains. */
  readonly stubDomains: Readonly<Record<string, readonly string[]>>;
}

export interface ParsedDnsConfig extends DnsConfig {
  /** What is ignored and why. */
  readonly faults: readonly string[];
}

/** The ConfigMap by which administrators configure cluster DNS, in the form that upstream documents for kube-dns. */
export const dnsConfigName = "kube-dns";
const namespace = "kube-system";

const maxBytes = 64 * 1024;
const maxDomains = 100;
/** As upstream. */
const maxServers = 3;
const domainForm = /^([a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$/;

/** Reads the keys `stubDomains` and `upstreamNameservers`, both JSON. What makes no sense is left out. */
export function parseDnsConfig(data: Readonly<Record<string, string>>): ParsedDnsConfig {
  const faults: string[] = [];
  const stubDomains: Record<string, readonly string[]> = {};
  const domains = parseJson("stubDomains", data.stubDomains, faults);
  if (domains !== undefined && !isObject(domains)) faults.push("stubDomains is not a map from domains to servers");
  for (const [domain, servers] of Object.entries(isObject(domains) ? domains : {}).slice(0, maxDomains)) {
    const name = domain.toLowerCase().replace(/\.$/, "");
    const found = serversIn(servers);
    if (name.length <= 253 && domainForm.test(name) && found.length > 0) stubDomains[name] = found;
    else faults.push(`stubDomains: ${JSON.stringify(domain.slice(0, 100))} is not a domain with servers`);
  }
  const servers = parseJson("upstreamNameservers", data.upstreamNameservers, faults);
  const upstreams = servers === undefined ? undefined : serversIn(servers);
  if (upstreams?.length === 0) faults.push("upstreamNameservers has no address");
  return { stubDomains, upstreams: upstreams?.length ? upstreams : undefined, faults };
}

function parseJson(key: string, text: string | undefined, faults: string[]): unknown {
  if (text === undefined || text.trim() === "") return undefined;
  try {
    if (text.length <= maxBytes) return JSON.parse(text);
    faults.push(`${key} is longer than ${maxBytes} bytes`);
  } catch {
    faults.push(`${key} is not JSON`);
  }
  return undefined;
}

/** The first few entries that are addresses, with or without a port. A name could only be resolved by this server. */
const serversIn = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter(isServer).slice(0, maxServers) : [];

function isServer(value: unknown): value is string {
  if (typeof value !== "string" || value.length > 64) return false;
  const { host, port } = parseUpstream(value);
  return isIP(host) !== 0 && port > 0 && port <= 65_535;
}

/** Calls `use` with the configuration now and after every change. */
export async function followDnsConfig(
  { informers, log }: { readonly informers: Informers; readonly log: Log },
  use: (config: DnsConfig) => void,
  signal: AbortSignal,
): Promise<() => void> {
  const maps = informers.of(ConfigMap, { namespace, fieldSelector: `metadata.name=${dnsConfigName}` });
  await maps.synced(signal);
  let known: ParsedDnsConfig | undefined;
  const apply = (data: Readonly<Record<string, string>>): void => {
    const parsed = parseDnsConfig(data);
    if (equal(known, parsed)) return;
    known = parsed;
    const { faults, ...config } = parsed;
    if (faults.length > 0) log.warn("parts of the DNS configuration are ignored", { configMap: dnsConfigName, faults });
    use(config);
  };
  apply({});
  return maps.subscribe(({ type, object }) => apply(type === "put" ? (object.data ?? {}) : {}));
}
