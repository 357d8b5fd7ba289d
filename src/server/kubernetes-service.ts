import { Endpoints } from "#api/core/service/endpoints.ts";
import { Service } from "#api/core/service.ts";
import { EndpointSlice } from "#api/discovery/endpoint-slice.ts";
import { type InputOf } from "#api/resource.ts";
import { serviceNameLabel, skipMirrorLabel } from "#api/well-known.ts";
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

const servicePorts = ({ port }: ServerPlace) => [
  { name: "https", port: 443, protocol: "TCP" as const, targetPort: port },
];

export const kubernetesService = (place: ServerPlace): InputOf<Service> => ({
  metadata: { namespace, name, labels },
  spec: { clusterIP: place.clusterIP, ports: servicePorts(place), type: "ClusterIP", sessionAffinity: "None" },
});

/** Publishes the API server as the service `kubernetes.default`. The namespace must exist. */
export async function ensureKubernetesService(client: Client, place: ServerPlace): Promise<void> {
  const ports = servicePorts(place);
  await ensureObject(client, Service, {
    ...{ namespace, name },
    object: kubernetesService(place),
    update: (current) => ({
      ...current,
      metadata: { ...current.metadata, labels: { ...current.metadata.labels, ...labels } },
      spec: { ...current.spec, ports },
    }),
  });
  await ensureSlice(client, place);
  await ensureEndpoints(client, place);
}

const unmirrored = { [skipMirrorLabel]: "true" };
const subsetsOf = ({ address, port }: ServerPlace) => [
  { addresses: [{ ip: address }], ports: [{ name: "https", port, protocol: "TCP" as const }] },
];

/** For clients that do not know slices. */
export const kubernetesEndpoints = (place: ServerPlace): InputOf<Endpoints> => ({
  metadata: { namespace, name, labels: unmirrored },
  subsets: subsetsOf(place),
});

async function ensureEndpoints(client: Client, place: ServerPlace): Promise<void> {
  const subsets = subsetsOf(place);
  await ensureObject(client, Endpoints, {
    ...{ namespace, name },
    object: kubernetesEndpoints(place),
    update: (current) => ({
      ...current,
      metadata: { ...current.metadata, labels: { ...current.metadata.labels, ...unmirrored } },
      subsets,
    }),
  });
}

const sliceLabels = { [serviceNameLabel]: name };
const endpointsOf = ({ address, port }: ServerPlace) => ({
  ports: [{ name: "https", port, protocol: "TCP" as const }],
  endpoints: [{ addresses: [address], conditions: { ready: true } }],
});

export const kubernetesSlice = (place: ServerPlace): InputOf<EndpointSlice> => ({
  metadata: { namespace, name, labels: sliceLabels },
  addressType: place.address.includes(":") ? "IPv6" : "IPv4",
  ...endpointsOf(place),
});

async function ensureSlice(client: Client, place: ServerPlace): Promise<void> {
  await ensureObject(client, EndpointSlice, {
    ...{ namespace, name },
    object: kubernetesSlice(place),
    update: (current) => ({
      ...current,
      metadata: { ...current.metadata, labels: { ...current.metadata.labels, ...sliceLabels } },
      ...endpointsOf(place),
    }),
  });
}
