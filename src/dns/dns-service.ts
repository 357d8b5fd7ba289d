import { Service } from "#api/core/service.ts";
import { EndpointSlice } from "#api/discovery/endpoint-slice.ts";
import { managedByLabel, serviceNameLabel } from "#api/well-known.ts";
import { type Client } from "#client/client.ts";
import { ensureObject } from "#client/ensure-object.ts";

export interface DnsPlace {
  /** The address that pods use for DNS: `10.96.0.10`. */
  readonly clusterIP: string;
  /** The address of this node's DNS server. */
  readonly address: string;
  readonly port: number;
  readonly nodeName: string;
}

const namespace = "kube-system";
const name = "kube-dns";
const labels = { "k8s-app": "kube-dns", "kubernetes.io/cluster-service": "true", "kubernetes.io/name": "CoreDNS" };

/**
 * Publishes the cluster's DNS as an ordinary service with this node's server as an endpoint, so that its address works
 * wherever services do. The namespace kube-system must exist.
 */
export async function ensureDnsService(client: Client, place: DnsPlace): Promise<void> {
  const ports = [
    { name: "dns", port: 53, protocol: "UDP", targetPort: place.port },
    { name: "dns-tcp", port: 53, protocol: "TCP", targetPort: place.port },
  ] as const;
  await ensureObject(client, Service, {
    ...{ namespace, name },
    object: {
      metadata: { namespace, name, labels },
      spec: { clusterIP: place.clusterIP, ports: [...ports], type: "ClusterIP", sessionAffinity: "None" },
    },
    update: (current) => ({
      ...current,
      metadata: { ...current.metadata, labels: { ...current.metadata.labels, ...labels } },
      spec: { ...current.spec, ports: [...ports] },
    }),
  });
  await ensureDnsSlice(client, place);
}

async function ensureDnsSlice(client: Client, { address, port, nodeName }: DnsPlace): Promise<void> {
  const own = {
    labels: {
      [serviceNameLabel]: name,
      [managedByLabel]: "orlop-dns",
      "k8s-app": "kube-dns",
    },
  };
  const wanted = {
    ports: [
      { name: "dns", port, protocol: "UDP" as const },
      { name: "dns-tcp", port, protocol: "TCP" as const },
    ],
    endpoints: [{ addresses: [address], nodeName, conditions: { ready: true, serving: true, terminating: false } }],
  };
  const sliceName = `${name}-${nodeName}`;
  const addressType = address.includes(":") ? "IPv6" : "IPv4";
  await ensureObject(client, EndpointSlice, {
    ...{ namespace, name: sliceName },
    object: { metadata: { namespace, name: sliceName, ...own }, addressType, ...wanted },
    update: (current) => ({
      ...current,
      metadata: { ...current.metadata, labels: { ...current.metadata.labels, ...own.labels } },
      ...wanted,
    }),
  });
}
