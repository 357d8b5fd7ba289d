import { parseDualRange } from "#lib/net/dual-range.ts";
import { parseIPv4 } from "#lib/net/ip.ts";

/** What all nodes must agree on. */
export interface NetworkFacts {
  /** Each with a second range, of IPv6, after a comma if the cluster has both families. */
  readonly clusterCidr: string;
  readonly serviceCidr: string;
  /** The address of cluster DNS. */
  readonly dnsAddress: string;
}

/** The ConfigMap in kube-system with these facts. */
export const networkConfigName = "orlop-network";

export const renderNetworkFacts = ({ clusterCidr, serviceCidr, dnsAddress }: NetworkFacts): Record<string, string> => ({
  "cluster-cidr": clusterCidr,
  "service-cidr": serviceCidr,
  "dns-address": dnsAddress,
});

/** Throws if one of them is missing or makes no sense. */
export function readNetworkFacts(data: Readonly<Record<string, string>>): NetworkFacts {
  const range = (key: string): string => {
    const text = data[key] ?? "";
    parseDualRange(text);
    return text;
  };
  const dnsAddress = data["dns-address"] ?? "";
  if (parseIPv4(dnsAddress) === undefined) throw new Error(`not an address of cluster DNS: ${dnsAddress}`);
  return { clusterCidr: range("cluster-cidr"), serviceCidr: range("service-cidr"), dnsAddress };
}
