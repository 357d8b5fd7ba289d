import assert from "node:assert/strict";
import { test } from "node:test";
import { Namespace } from "#api/core/namespace.ts";
import { Service } from "#api/core/service.ts";
import { EndpointSlice } from "#api/discovery/endpoint-slice.ts";
import { createFakeInformers } from "#testing/fake-informers.ts";
import { openClusterView } from "./cluster-view.ts";
import { type DnsRecord, recordTypes } from "./message.ts";
import { answerQuestion, type Zone } from "./records.ts";

const zone: Zone = {
  ...{ domain: "cluster.local", serverAddress: "10.96.0.10", ttl: 5, serial: 1 },
  isOwnAddress: (address) => address.startsWith("10.96."),
};

const informers = createFakeInformers();
informers.put(Namespace, { metadata: { name: "shop" }, spec: {}, status: {} });
const service = (name: string, spec: Partial<Service["spec"]>) =>
  informers.put(Service, {
    metadata: { namespace: "shop", name },
    spec: { type: "ClusterIP", sessionAffinity: "None", ...spec },
    status: { loadBalancer: {} },
  });
const slice = (name: string, endpoints: EndpointSlice["endpoints"], ports: EndpointSlice["ports"] = []) =>
  informers.put(EndpointSlice, {
    metadata: { namespace: "shop", name: `${name}-x`, labels: { "kubernetes.io/service-name": name } },
    ...{ addressType: "IPv4", endpoints, ports },
  });
const http = { name: "http", protocol: "TCP", port: 80, targetPort: 8080 } as const;
service("web", { clusterIP: "10.96.0.7", clusterIPs: ["10.96.0.7", "fd00::7"], ports: [http] });
service("db", { clusterIP: "None", ports: [http] });
slice(
  "db",
  [
    { addresses: ["10.244.0.5"], hostname: "db-0", conditions: { ready: true } },
    { addresses: ["10.244.0.6"], conditions: {} },
    { addresses: ["10.244.0.7"], hostname: "db-2", conditions: { ready: false } },
  ],
  [{ name: "http", protocol: "TCP", port: 8080 }],
);
service("early", { clusterIP: "None", publishNotReadyAddresses: true });
slice("early", [{ addresses: ["10.244.0.8"], hostname: "e-0", conditions: { ready: false } }]);
service("none", { clusterIP: "None" });
service("alias", { type: "ExternalName", externalName: "web.shop.svc.cluster.local" });
service("twice", { type: "ExternalName", externalName: "alias.shop.svc.cluster.local." });
service("circle", { type: "ExternalName", externalName: "circle.shop.svc.cluster.local" });
service("away", { type: "ExternalName", externalName: "www.example.com" });
const view = openClusterView(informers);

const show = ({ name, data }: DnsRecord): string => {
  const { type, ...rest } = data;
  return `${name} ${type} ${Object.values(rest).flat().join(" ")}`;
};
const say = (name: string, type: keyof typeof recordTypes): string[] => {
  const reply = answerQuestion(view, zone, { name, type: recordTypes[type] });
  if (reply.kind !== "records") return [reply.kind];
  const chase = reply.chase === undefined ? [] : [`chase ${reply.chase}`];
  return [...reply.answers.map(show), ...reply.additional.map((one) => `+ ${show(one)}`), ...chase];
};

const db = "db.shop.svc.cluster.local";
const web = "web.shop.svc.cluster.local";
const soa = "ns.dns.cluster.local hostmaster.cluster.local 1 7200 1800 86400 5";
const cases: readonly (readonly [string, keyof typeof recordTypes, readonly string[]])[] = [
  [web, "A", [`${web} A 10.96.0.7`]],
  ["WEB.Shop.svc.Cluster.local", "A", ["WEB.Shop.svc.Cluster.local A 10.96.0.7"]],
  [web, "AAAA", [`${web} AAAA fd00::7`]],
  [web, "TXT", ["empty"]],
  [web, "SRV", [`${web} SRV 0 100 80 ${web}`, `+ ${web} A 10.96.0.7`, `+ ${web} AAAA fd00::7`]],
  [
    `_http._tcp.${web}`,
    "SRV",
    [`_http._tcp.${web} SRV 0 100 80 ${web}`, `+ ${web} A 10.96.0.7`, `+ ${web} AAAA fd00::7`],
  ],
  [`_http._tcp.${web}`, "A", ["empty"]],
  [`_tcp.${web}`, "SRV", ["empty"]],
  [`_udp.${web}`, "SRV", ["missing"]],
  [`_other._tcp.${web}`, "SRV", ["missing"]],
  [`a.b.c.${web}`, "A", ["missing"]],
  [db, "A", [`${db} A 10.244.0.5`, `${db} A 10.244.0.6`]],
  [db, "AAAA", ["empty"]],
  [`db-0.${db}`, "A", [`db-0.${db} A 10.244.0.5`]],
  [`10-244-0-6.${db}`, "A", [`10-244-0-6.${db} A 10.244.0.6`]],
  [`db-2.${db}`, "A", ["missing"]],
  [
    `_http._tcp.${db}`,
    "SRV",
    [
      `_http._tcp.${db} SRV 0 50 8080 db-0.${db}`,
      `_http._tcp.${db} SRV 0 50 8080 10-244-0-6.${db}`,
      `+ db-0.${db} A 10.244.0.5`,
      `+ 10-244-0-6.${db} A 10.244.0.6`,
    ],
  ],
  ["e-0.early.shop.svc.cluster.local", "A", ["e-0.early.shop.svc.cluster.local A 10.244.0.8"]],
  ["none.shop.svc.cluster.local", "A", ["empty"]],
  ["no.shop.svc.cluster.local", "A", ["missing"]],
  ["web.elsewhere.svc.cluster.local", "A", ["missing"]],
  ["shop.svc.cluster.local", "A", ["empty"]],
  ["elsewhere.svc.cluster.local", "A", ["missing"]],
  ["svc.cluster.local", "A", ["empty"]],
  ["other.cluster.local", "A", ["missing"]],
  ["alias.shop.svc.cluster.local", "A", [`alias.shop.svc.cluster.local CNAME ${web}`, `${web} A 10.96.0.7`]],
  ["alias.shop.svc.cluster.local", "CNAME", [`alias.shop.svc.cluster.local CNAME ${web}`]],
  [
    "twice.shop.svc.cluster.local",
    "A",
    [
      "twice.shop.svc.cluster.local CNAME alias.shop.svc.cluster.local",
      `alias.shop.svc.cluster.local CNAME ${web}`,
      `${web} A 10.96.0.7`,
    ],
  ],
  ["away.shop.svc.cluster.local", "A", ["away.shop.svc.cluster.local CNAME www.example.com", "chase www.example.com"]],
  ["10-244-0-5.shop.pod.cluster.local", "A", ["10-244-0-5.shop.pod.cluster.local A 10.244.0.5"]],
  ["10-244-0-5.shop.pod.cluster.local", "AAAA", ["empty"]],
  ["fd00--5.shop.pod.cluster.local", "AAAA", ["fd00--5.shop.pod.cluster.local AAAA fd00::5"]],
  ["web.shop.pod.cluster.local", "A", ["missing"]],
  ["10-244-0-5.elsewhere.pod.cluster.local", "A", ["missing"]],
  ["pod.cluster.local", "A", ["empty"]],
  ["dns-version.cluster.local", "TXT", ["dns-version.cluster.local TXT 1.1.0"]],
  ["cluster.local", "SOA", [`cluster.local SOA ${soa}`]],
  ["cluster.local", "NS", ["cluster.local NS ns.dns.cluster.local"]],
  ["cluster.local", "A", ["empty"]],
  ["ns.dns.cluster.local", "A", ["ns.dns.cluster.local A 10.96.0.10"]],
  ["7.0.96.10.in-addr.arpa", "PTR", [`7.0.96.10.in-addr.arpa PTR ${web}`]],
  ["5.0.244.10.in-addr.arpa", "PTR", [`5.0.244.10.in-addr.arpa PTR db-0.${db}`]],
  ["9.9.96.10.in-addr.arpa", "PTR", ["missing"]],
  ["8.8.8.8.in-addr.arpa", "PTR", ["foreign"]],
  [`7.${"0.".repeat(27)}0.0.d.f.ip6.arpa`, "PTR", [`7.${"0.".repeat(27)}0.0.d.f.ip6.arpa PTR ${web}`]],
  ["example.com", "A", ["foreign"]],
  ["local", "A", ["foreign"]],
  ["", "NS", ["foreign"]],
];
for (const [name, type, expected] of cases) {
  test(`${type} of "${name}" is ${expected[0]}`, () => assert.deepEqual(say(name, type), expected));
}

test("a cycle of aliases ends", () => {
  const answers = say("circle.shop.svc.cluster.local", "A");

  assert(answers.length < 12);
  assert(answers.every((answer) => answer.includes("CNAME")));
});

test("a view forgets addresses that services no longer have", () => {
  const gone = service("gone", { clusterIP: "10.96.0.99", clusterIPs: ["10.96.0.99"] });
  assert.deepEqual(view.servicesAt("10.96.0.99"), [gone]);

  service("gone", { clusterIP: "10.96.0.98", clusterIPs: ["10.96.0.98"] });
  assert.deepEqual(view.servicesAt("10.96.0.99"), []);

  informers.delete(Service, { namespace: "shop", name: "gone" });
  assert.deepEqual(view.servicesAt("10.96.0.98"), []);
});
