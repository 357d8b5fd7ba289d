import type { HostAlias } from "#api/core/pod/pod-spec.ts";

export interface HostsFile {
  readonly ips: readonly string[];
  readonly hostname: string;
  /** Empty if the pod has no subdomain. */
  readonly domain: string;
  readonly aliases: readonly HostAlias[];
}

/** `/etc/hosts` of a pod with its own network. */
export function renderHostsFile({ ips, hostname, domain, aliases }: HostsFile): string {
  const names = domain === "" ? hostname : `${hostname}.${domain}\t${hostname}`;
  const own = ips.map((ip) => `${ip}\t${names}`);
  return `${["# Kubernetes-managed hosts file.", ...common, ...own].join("\n")}\n${renderAliases(aliases)}`;
}

/** `/etc/hosts` of a pod on the node's network: the node's file, and the pod's aliases. */
export const renderNodeHostsFile = (nodeFile: string, aliases: readonly HostAlias[]): string =>
  `# Kubernetes-managed hosts file (host network).\n${nodeFile}${renderAliases(aliases)}`;

const common = [
  "127.0.0.1\tlocalhost",
  "::1\tlocalhost ip6-localhost ip6-loopback",
  "fe00::0\tip6-localnet",
  "fe00::0\tip6-mcastprefix",
  "fe00::1\tip6-allnodes",
  "fe00::2\tip6-allrouters",
];

function renderAliases(aliases: readonly HostAlias[]): string {
  if (aliases.length === 0) return "";
  const lines = aliases.map(({ ip, hostnames = [] }) => `${ip}\t${hostnames.join("\t")}\n`);
  return `\n# Entries added by HostAliases.\n${lines.join("")}`;
}
