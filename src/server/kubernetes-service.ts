import { Endpoints } from "#api/core/service/endpoints.ts";
import { Service } from "#api/core/service.ts";
import { EndpointSlice } from "#api/discovery/endpoint-slice.ts";
import { serviceNameLabel } from "#api/well-known.ts";
import { type Client } from "#client/client.ts";
import { ensureObject } from "#client/ensure-object.ts";

export interface ServerPlace {
  /** The address at which this API server listens. */
  readonly address: string;
  readonly port: number;
  /** The address that pods use for it: `10.96.0.1`. */
  readonly clusterIP: string;
}

const namespace = "default";
const name = "kubernetes";
const labels = { component: "apiserver", provider: "kubernetes" };

/** Publishes the API server as the service `kubernetes.default`. The namespace must exist. */
export async function ensureKubernetesService(client: Client, place: ServerPlace): Promise<void> {
  const ports = [{ name: "https", port: 443, protocol: "TCP" as const, targetPort: place.port }];
  await ensureObject(client, Service, {
    ...{ namespace, name },
    object: {
      metadata: { namespace, name, labels },
      spec: { clusterIP: place.clusterIP, ports, type: "ClusterIP", sessionAffinity: "None" },
    },
    update: (current) => ({
      ...current,
      metadata: { ...current.metadata, labels: { ...current.metadata.labels, ...labels } },
      spec: { ...current.spec, ports },
    }),
  });
  await ensureSlice(client, place);
  await ensureEndpoints(client, place);
}

/** For clients that do not know slices. */
async function ensureEndpoints(client: Client, { address, port }: ServerPlace): Promise<void> {
  const unmirrored = { "endpointslice.kubernetes.io/skip-mirror": "true" };
  const ports = [{ name: "https", port, protocol: "TCP" as const }];
  const subsets = [{ addresses: [{ ip: address }], ports }];
  await ensureObject(client, Endpoints, {
    ...{ namespace, name },
    object: { metadata: { namespace, name, labels: unmirrored }, subsets },
    update: (current) => ({
      ...current,
      metadata: { ...current.metadata, labels: { ...current.metadata.labels, ...unmirrored } },
      subsets,
    }),
  });
}

async function ensureSlice(client: Client, { address, port }: ServerPlace): Promise<void> {
  const sliceLabels = { [serviceNameLabel]: name };
  const wanted = {
    ports: [{ name: "https", port, protocol: "TCP" as const }],
    endpoints: [{ addresses: [address], conditions: { ready: true } }],
  };
  await ensureObject(client, EndpointSlice, {
    ...{ namespace, name },
    object: {
      metadata: { namespace, name, labels: sliceLabels },
      addressType: address.includes(":") ? "IPv6" : "IPv4",
      ...wanted,
    },
    update: (current) => ({
      ...current,
      metadata: { ...current.metadata, labels: { ...current.metadata.labels, ...sliceLabels } },
      ...wanted,
    }),
  });
}
