import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { CustomResourceDefinition } from "#api/apiextensions/custom-resource-definition.ts";
import { Event } from "#api/core/event.ts";
import { Secret } from "#api/core/secret.ts";
import { Service } from "#api/core/service.ts";
import { EndpointSlice } from "#api/discovery/endpoint-slice.ts";
import { Ingress } from "#api/networking/ingress.ts";
import { IngressClass } from "#api/networking/ingress-class.ts";
import { type InputOf } from "#api/resource.ts";
import { serviceNameLabel } from "#api/well-known.ts";
import { ingressUser } from "#cluster/identities.ts";
import { seededRandom } from "#lib/data/random.ts";
import { primaryAddress } from "#lib/net/ip.ts";
import { startCluster, type TestCluster } from "#testing/start-cluster.ts";
import { Gateway, type GatewayRoute, HTTPRoute, TLSRoute } from "./gateway/kinds.ts";
import { runIngress } from "./ingress.ts";
import { ask, echo, openBackend } from "./serve/proxy.suite.ts";
import { connect, serveBytes } from "./serve/relay.suite.ts";

interface Running extends AsyncDisposable {
  readonly cluster: TestCluster;
  readonly httpPort: number;
  readonly httpsPort: number;
  /** Resolves when a request to the host is answered with this status. */
  answers(host: string, status: number): Promise<void>;
}

const namespace = "default";

/** The component with a real server and its own rights. */
async function start(): Promise<Running> {
  const listening = Promise.withResolvers<{ readonly httpPort: number; readonly httpsPort: number }>();
  const cluster = await startCluster({
    controllers: false,
    clock: "system",
    components: (deps) => [
      (signal) =>
        runIngress(
          {
            ...{ host: "127.0.0.1", httpPort: 0, httpsPort: 0, addresses: ["192.0.2.7"] },
            onListening: (ports) => listening.resolve({ httpPort: ports.httpPort, httpsPort: ports.httpsPort }),
          },
          { ...deps, client: deps.clientFor(ingressUser), random: seededRandom(1) },
          signal,
        ),
    ],
  });
  const ports = await listening.promise;
  return {
    ...{ cluster, ...ports },
    answers: (host, status) =>
      cluster.until(async () => (await ask(ports.httpPort, { headers: { host } })).status === status),
    [Symbol.asyncDispose]: () => cluster[Symbol.asyncDispose](),
  };
}

const ingressFor = (name: string, host: string, more: object = {}): InputOf<Ingress> => ({
  metadata: { namespace, name },
  spec: {
    ingressClassName: "orlop",
    rules: [
      {
        host,
        http: {
          paths: [{ path: "/", pathType: "Prefix", backend: { service: { name: "web", port: { number: 80 } } } }],
        },
      },
    ],
    ...more,
  },
});

test("an Ingress is served with the rights of the component, gets its addresses, and is told what is wrong", async () => {
  await using running = await start();
  const { client } = running.cluster;
  await running.cluster.until(async () => (await client.list(IngressClass)).items.length === 1);
  await client.create(Secret, {
    ...{ metadata: { namespace, name: "broken" }, type: "kubernetes.io/tls" },
    data: { "tls.crt": "bm90", "tls.key": "cGVt" },
  });
  await client.create(
    Ingress,
    ingressFor("web", "web.example", { tls: [{ hosts: ["web.example"], secretName: "broken" }] }),
  );

  await running.answers("web.example", 503);
  await running.answers("other.example", 404);
  await running.cluster.until(async () => {
    const { status } = await client.get(Ingress, { namespace, name: "web" });
    return status.loadBalancer.ingress?.[0]?.ip === "192.0.2.7";
  });
  await running.cluster.until(async () => {
    const { items } = await client.list(Event, { namespace });
    return items.some(({ reason, message = "" }) => reason === "IngressIgnored" && message.includes("secret broken"));
  });
});

test("routes and endpoints follow their objects", async (t) => {
  // Slices must not name loopback addresses.
  const address = primaryAddress();
  if (!address) return t.skip("this machine has no network");
  await using backend = await openBackend(echo, address);
  await using running = await start();
  const { client } = running.cluster;
  await client.create(Service, { metadata: { namespace, name: "web" }, spec: { ports: [{ name: "http", port: 80 }] } });
  await client.create(Ingress, ingressFor("web", "web.example"));
  await running.answers("web.example", 503);

  const slice = await client.create(EndpointSlice, {
    metadata: { namespace, name: "web-1", labels: { [serviceNameLabel]: "web" } },
    addressType: "IPv4",
    endpoints: [{ addresses: [address], conditions: {} }],
    ports: [{ name: "http", port: backend.port }],
  });
  await running.answers("web.example", 200);
  await client.update(EndpointSlice, { ...slice, endpoints: [{ addresses: [address], conditions: { ready: false } }] });
  await running.answers("web.example", 503);
  await client.delete(Ingress, { namespace, name: "web" });
  await running.answers("web.example", 404);
});

test("Gateways and routes are checked by the definitions, served, and told how they are", async () => {
  await using running = await start();
  const { client } = running.cluster;
  const isThere = async () => (await client.list(CustomResourceDefinition)).items.length === 6;
  await running.cluster.until(isThere);
  const listeners = [{ name: "http", port: running.httpPort, protocol: "HTTP" }];
  const gateway = { metadata: { namespace, name: "gw" }, spec: { gatewayClassName: "orlop", listeners } };
  await running.cluster.until(() =>
    client.create(Gateway, gateway as InputOf<Gateway>).then(
      () => true,
      () => false,
    ),
  );
  const rules = [{ backendRefs: [{ name: "web", port: 80 }] }];
  const route = {
    metadata: { namespace, name: "web" },
    spec: { parentRefs: [{ name: "gw" }], hostnames: ["web.example"], rules },
  };
  await client.create(HTTPRoute, route as InputOf<GatewayRoute>);

  // The service does not exist.
  await running.answers("web.example", 500);
  const conditionsOf = async () => {
    const { status } = await client.get(HTTPRoute, { namespace, name: "web" });
    return (status?.parents[0]?.conditions ?? []).map(
      (one) => `${one.type} ${one.status} ${one.reason} ${one.observedGeneration}`,
    );
  };
  await running.cluster.until(async () => (await conditionsOf()).length === 2);
  assert.deepEqual(await conditionsOf(), ["Accepted True Accepted 1", "ResolvedRefs False BackendNotFound 1"]);

  await client.create(Service, { metadata: { namespace, name: "web" }, spec: { ports: [{ name: "http", port: 80 }] } });
  await running.answers("web.example", 503);
  await running.cluster.until(async () => (await conditionsOf())[1] === "ResolvedRefs True ResolvedRefs 1");
  const { status } = await client.get(Gateway, { namespace, name: "gw" });
  assert.deepEqual(
    status?.conditions?.map((one) => `${one.type} ${one.status} ${one.reason}`),
    ["Accepted True Accepted", "Programmed True Programmed"],
  );
  assert.equal(status?.listeners?.[0]?.attachedRoutes, 1);
});

test("a TLSRoute is checked by its definition, passes connections on, and is told how it is", async (t) => {
  const address = primaryAddress();
  if (!address) return t.skip("this machine has no network");
  await using db = await serveBytes((socket) => socket.end("bye"), "db.example", address);
  await using running = await start();
  const { client, until } = running.cluster;
  const route = (spec: object) => ({ metadata: { namespace, name: "db" }, spec }) as unknown as InputOf<GatewayRoute>;
  const rules = [{ backendRefs: [{ name: "db", port: 443 }] }];
  const good = { parentRefs: [{ name: "gw" }], hostnames: ["db.example"], rules };
  await until(() =>
    client.create(TLSRoute, route(good)).then(
      () => true,
      () => false,
    ),
  );
  for (const [spec, says] of [
    [{ ...good, hostnames: [] }, /hostnames/],
    [{ ...good, hostnames: ["10.0.0.1"] }, /Hostnames cannot contain an IP/],
    [{ ...good, hostnames: ["a.*.example"] }, /hostnames/],
    [{ ...good, rules: [...rules, ...rules] }, /rules/],
    [{ ...good, rules: [{ backendRefs: [{ name: "db" }] }] }, /Must have port/],
  ] as const) {
    await assert.rejects(client.create(TLSRoute, route(spec)), says);
  }
  const tls = {
    name: "tls",
    port: running.httpsPort,
    protocol: "TLS",
    hostname: "*.example",
    tls: { mode: "Passthrough" },
  };
  const gateway = { metadata: { namespace, name: "gw" }, spec: { gatewayClassName: "orlop", listeners: [tls] } };
  const noMode = { ...gateway, spec: { ...gateway.spec, listeners: [{ ...tls, tls: undefined }] } };
  await assert.rejects(client.create(Gateway, noMode as unknown as InputOf<Gateway>), /tls mode must be set/);
  await client.create(Gateway, gateway as InputOf<Gateway>);
  const says = async () => {
    const { status } = await client.get(TLSRoute, { namespace, name: "db" });
    return (status?.parents[0]?.conditions ?? []).map((one) => `${one.type} ${one.status} ${one.reason}`).join();
  };
  await until(async () => (await says()) === "Accepted True Accepted,ResolvedRefs False BackendNotFound");

  const ports = [{ name: "tls", port: 443, appProtocol: "https" }];
  await client.create(Service, { metadata: { namespace, name: "db" }, spec: { ports } });
  await client.create(EndpointSlice, {
    metadata: { namespace, name: "db-1", labels: { [serviceNameLabel]: "db" } },
    addressType: "IPv4",
    endpoints: [{ addresses: [address], conditions: {} }],
    ports: [{ name: "tls", port: db.port }],
  });
  await until(async () => (await says()) === "Accepted True Accepted,ResolvedRefs True ResolvedRefs");
  await until(async () => {
    const socket = connect(running.httpsPort, "db.example");
    const isOpen = await once(socket, "secureConnect").then(
      () => socket.getPeerCertificate().subject.CN === "the backend",
      () => false,
    );
    if (isOpen) await once(socket.resume(), "close");
    return isOpen;
  });
  const { status } = await client.get(Gateway, { namespace, name: "gw" });
  assert.equal(status?.listeners?.[0]?.attachedRoutes, 1);
  assert.deepEqual(
    status?.listeners?.[0]?.supportedKinds?.map(({ kind }) => kind),
    ["TLSRoute"],
  );
});

const wrong: readonly { readonly name: string; readonly spec: object; readonly says: RegExp }[] = [
  {
    name: "a path that means another",
    spec: { rules: [{ matches: [{ path: { value: "/a/../b" } }] }] },
    says: /must not contain '\/\.\.\/'/,
  },
  {
    name: "a redirect with backends",
    spec: {
      rules: [
        { filters: [{ type: "RequestRedirect", requestRedirect: {} }], backendRefs: [{ name: "web", port: 80 }] },
      ],
    },
    says: /must not be used together with backendRefs/,
  },
  { name: "a service without a port", spec: { rules: [{ backendRefs: [{ name: "web" }] }] }, says: /Must have port/ },
  {
    name: "a filter without its settings",
    spec: { rules: [{ filters: [{ type: "URLRewrite" }] }] },
    says: /filter\.urlRewrite must be specified/,
  },
  {
    name: "a time for the backend that is too long",
    spec: { rules: [{ timeouts: { request: "1s", backendRequest: "2s" } }] },
    says: /backendRequest timeout cannot be longer/,
  },
  {
    name: "the same parent twice",
    spec: { parentRefs: [{ name: "gw" }, { name: "gw" }] },
    says: /sectionName must be unique/,
  },
];

test("the definitions refuse what upstream's refuse", async () => {
  await using running = await start();
  const { client } = running.cluster;
  const good = { metadata: { namespace, name: "good" }, spec: {} };
  await running.cluster.until(() =>
    client.create(HTTPRoute, good as unknown as InputOf<GatewayRoute>).then(
      () => true,
      () => false,
    ),
  );

  const { spec } = await client.get(HTTPRoute, { namespace, name: "good" });
  assert.deepEqual(spec.rules, [{ matches: [{ path: { type: "PathPrefix", value: "/" } }] }]);
  for (const { name, spec: sent, says } of wrong) {
    const route = { metadata: { namespace, name: "wrong" }, spec: sent } as unknown as InputOf<GatewayRoute>;
    await assert.rejects(client.create(HTTPRoute, route), says, name);
  }
});
