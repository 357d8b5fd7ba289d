import { Deployment } from "#api/apps/deployment.ts";
import { Pod } from "#api/core/pod.ts";
import { Endpoints } from "#api/core/service/endpoints.ts";
import { Service } from "#api/core/service.ts";
import { EndpointSlice } from "#api/discovery/endpoint-slice.ts";
import { IPAddress } from "#api/networking/ip-address.ts";
import { ServiceCIDR } from "#api/networking/service-cidr.ts";
import { type Ordeal, type Place } from "#testing/chaos/ordeal.ts";

const labels = { app: "web" };
const ports = [{ port: 80 }];
const deployment = (replicas: number, image: string) => (at: Place) =>
  at.apply(Deployment, {
    metadata: at.ref("web"),
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: "web", image }] } },
    },
  });
const endpoints = (ip: string) => (at: Place) =>
  at.apply(Endpoints, { metadata: at.ref("db"), subsets: [{ addresses: [{ ip }], ports }] });

/** The addresses in the slices of a service. */
const addressesOf = async (at: Place, service: string) =>
  (await at.list(EndpointSlice))
    .filter(({ metadata }) => metadata.labels?.["kubernetes.io/service-name"] === service)
    .flatMap((slice) => slice.endpoints.flatMap(({ addresses }) => addresses))
    .sort();
const rangeOf = (at: Place): string => `more-${at.namespace}`;

const balancer = (name: string) => (at: Place) =>
  at.apply(Service, { metadata: at.ref(name), spec: { type: "LoadBalancer", selector: labels, ports } });
const isBalanced = async (at: Place, name: string): Promise<boolean> => {
  const { status } = await at.cluster.client.get(Service, at.ref(name));
  return (status.loadBalancer.ingress?.length ?? 0) > 0;
};

export const services: readonly Ordeal[] = [
  {
    name: "a port of the nodes belongs to one service, and to the next when that one goes",
    controllers: ["service-lb-controller"],
    rounds: [
      balancer("first"),
      balancer("second"),
      async (at) => void (await at.cluster.client.delete(Service, at.ref("first"))),
    ],
    ends: async (at) => [[await isBalanced(at, "second")], [true]],
  },
  {
    name: "slices and Endpoints have exactly the addresses of the pods",
    controllers: ["endpointslice-controller", "endpoints-controller"],
    rounds: [
      async (at) => {
        await at.apply(Service, { metadata: at.ref("web"), spec: { selector: labels, ports } });
        await deployment(6, "web:1")(at);
      },
      deployment(4, "web:2"),
    ],
    async ends(at) {
      const pods = (await at.list(Pod)).map(({ status }) => status.podIP).sort();
      const { subsets = [] } = await at.cluster.client.get(Endpoints, at.ref("web"));
      const listed = subsets.flatMap(({ addresses = [] }) => addresses.map(({ ip }) => ip)).sort();
      return [
        [pods.length, await addressesOf(at, "web"), listed],
        [4, pods, pods],
      ];
    },
  },
  {
    name: "slices go with their service",
    controllers: ["endpointslice-controller", "endpoints-controller"],
    rounds: [
      async (at) => {
        await at.apply(Service, { metadata: at.ref("web"), spec: { selector: labels, ports } });
        await deployment(3, "web:1")(at);
      },
      (at) => at.cluster.client.delete(Service, at.ref("web")),
    ],
    ends: async (at) => [
      [(await at.list(EndpointSlice)).length, (await at.list(Endpoints)).length],
      [0, 0],
    ],
  },
  {
    name: "the Endpoints that a user writes are mirrored",
    controllers: ["endpointslice-mirroring-controller"],
    rounds: [
      async (at) => {
        await at.apply(Service, { metadata: at.ref("db"), spec: { ports } });
        await endpoints("10.1.2.3")(at);
      },
      endpoints("10.1.2.4"),
    ],
    ends: async (at) => [await addressesOf(at, "db"), ["10.1.2.4"]],
  },
  {
    name: "a range of services goes only after its addresses",
    controllers: ["service-cidr-controller"],
    rounds: [
      (at) => at.create(ServiceCIDR, { metadata: { name: rangeOf(at) }, spec: { cidrs: ["10.20.0.0/24"] } }),
      (at) => at.create(Service, { metadata: at.ref("web"), spec: { clusterIP: "10.20.0.7", ports } }),
      (at) => at.cluster.client.delete(ServiceCIDR, { name: rangeOf(at) }),
      (at) => at.cluster.client.delete(Service, at.ref("web")),
    ],
    watch(at) {
      const addresses = at.cluster.informers.of(IPAddress);
      at.cluster.informers.of(ServiceCIDR).subscribe(({ type, object }) => {
        if (object.metadata.name !== rangeOf(at) || type !== "delete") return;
        if (addresses.get({ name: "10.20.0.7" })) at.fault("the range went before its address");
      });
    },
    async ends(at) {
      const ranges = (await at.cluster.list(ServiceCIDR)).map(({ metadata }) => metadata.name);
      return [ranges.includes(rangeOf(at)), false];
    },
  },
];
