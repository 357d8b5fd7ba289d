import type { Pod } from "#api/core/pod.ts";
import { trimEndOf } from "#lib/text/trim-end.ts";

export interface ResolverConfig {
  readonly servers: readonly string[];
  readonly searches: readonly string[];
  readonly options: readonly string[];
}
export interface ClusterDns {
  readonly servers: readonly string[];
  /** `cluster.local` */
  readonly domain: string;
}
export interface PodDns {
  readonly config: ResolverConfig;
  /** What had to be omitted, as the text of an event. */
  readonly warnings: readonly string[];
}

/** A pod's resolver configuration: its policy, then its own settings, truncated to the limits of resolvers. */
export function planPodDns(pod: Pod, host: ResolverConfig, cluster: ClusterDns): PodDns {
  const base = baseConfig(pod, host, cluster);
  const own = pod.spec.dnsConfig;
  if (!own) return fitLimits(base);
  return fitLimits({
    servers: unique([...base.servers, ...(own.nameservers ?? [])]),
    searches: unique([...base.searches, ...(own.searches ?? [])]),
    options: mergeOptions(base.options, own.options ?? []),
  });
}

function baseConfig({ metadata, spec }: Pod, host: ResolverConfig, cluster: ClusterDns): ResolverConfig {
  const policy = spec.dnsPolicy;
  if (policy === "None") return { servers: [], searches: [], options: [] };
  const isCluster = policy === "ClusterFirstWithHostNet" || (policy === "ClusterFirst" && !spec.hostNetwork);
  if (!isCluster || cluster.servers.length === 0) return host;
  const { servers, domain } = cluster;
  const own = domain === "" ? [] : [`${metadata.namespace}.svc.${domain}`, `svc.${domain}`, domain];
  return { servers, searches: unique([...own, ...host.searches]), options: ["ndots:5"] };
}

const unique = (texts: readonly string[]): string[] => [...new Set(texts)];

/** The pod's option replaces another one of the same name. */
function mergeOptions(base: readonly string[], own: readonly { name?: string; value?: string }[]): string[] {
  const options = new Map(base.map((option) => [option.split(":")[0] ?? option, option]));
  for (const { name = "", value } of own) options.set(name, value ? `${name}:${value}` : name);
  return [...options.values()];
}

const limits = { servers: 3, searches: 32, searchCharacters: 2048, domainCharacters: 253 };

function fitLimits({ servers, searches, options }: ResolverConfig): PodDns {
  const warnings: string[] = [];
  const few = servers.slice(0, limits.servers);
  if (few.length < servers.length) {
    const line = few.join(" ");
    warnings.push(
      `Nameserver limits were exceeded, some nameservers have been omitted, the applied nameserver line is: ${line}`,
    );
  }
  const short = searches.slice(0, limits.searches).filter((domain) => domain.length <= limits.domainCharacters);
  while (short.join(" ").length > limits.searchCharacters) short.pop();
  if (short.length < searches.length) {
    const line = short.join(" ");
    warnings.push(
      `Search Line limits were exceeded, some search paths have been omitted, the applied search line is: ${line}`,
    );
  }
  return { config: { servers: few, searches: short, options }, warnings };
}

/** Reads a `resolv.conf`: name servers add up, the last search line wins, and a later option replaces an earlier one. */
export function parseResolvConf(text: string): ResolverConfig {
  const servers: string[] = [];
  let searches: string[] = [];
  const options = new Map<string, string>();
  for (const line of text.split("\n")) {
    const [keyword, ...words] = line.trim().split(/\s+/);
    if (keyword === "nameserver" && words[0]) servers.push(words[0]);
    if (keyword === "search") searches = words.filter((word) => word !== ".").map((word) => word.replace(/\.$/, ""));
    if (keyword === "options") for (const option of words) options.set(option.split(":")[0] ?? option, option);
  }
  return { servers, searches, options: [...options.values()] };
}

const maxHostname = 63;

/** The pod's hostname, and the domain of its subdomain. */
export function podHostname({ metadata, spec }: Pod, clusterDomain: string): { hostname: string; domain: string } {
  if (spec.hostnameOverride) return { hostname: spec.hostnameOverride, domain: "" };
  // Names may be longer than the kernel allows, and must not end in a dash or dot after truncation.
  const hostname = trimEndOf((spec.hostname || metadata.name).slice(0, maxHostname), "-.");
  const domain = spec.subdomain ? `${spec.subdomain}.${metadata.namespace}.svc.${clusterDomain}` : "";
  return { hostname, domain };
}
