import assert from "node:assert/strict";
import { test } from "node:test";
import { Service } from "#api/core/service.ts";
import { read } from "#api/faults.suite.ts";
import { Ingress } from "#api/networking/ingress.ts";
import { IngressClass } from "#api/networking/ingress-class.ts";
import { type IngressFacts, type ServiceFacts } from "../facts.ts";
import { explainIngress } from "./explain-ingress.ts";

const metadata = { namespace: "default", name: "web" };
const spec = {
  ingressClassName: "orlop",
  tls: [{ hosts: ["web.example"], secretName: "cert" }],
  rules: [
    {
      host: "web.example",
      http: { paths: [{ path: "/", pathType: "Prefix", backend: { service: { name: "web", port: { number: 80 } } } }] },
    },
  ],
};
const status = { loadBalancer: { ingress: [{ ip: "192.0.2.1" }] } };
const service = read(Service, { metadata, spec: { ports: [{ port: 80 }] } }) as Service;
const endpoints = [{ addresses: ["10.0.0.1"], conditions: { ready: true } }];
const web = { service, pods: [], near: [], stuck: undefined, slices: [{ endpoints }] } as unknown as ServiceFacts;
const event = (reason: string, message: string) => ({
  ...{ type: "Warning", reason, message, count: 1, lastMs: 1, fieldPath: "" },
});
const facts: IngressFacts = {
  ingress: read(Ingress, { metadata, spec, status }) as Ingress,
  className: "orlop",
  ingressClass: read(IngressClass, {
    metadata: { name: "orlop" },
    spec: { controller: "orlop.dev/ingress" },
  }) as IngressClass,
  events: [],
  services: new Map([["web", web]]),
  secrets: new Map([["cert", "kubernetes.io/tls"]]),
};

const cases: readonly { name: string; change: Partial<IngressFacts>; state: string; says: RegExp }[] = [
  { name: "is served", change: {}, state: "Serving", says: /leads to 1 service/ },
  {
    name: "has no class",
    change: { className: undefined, ingressClass: undefined },
    state: "NoClass",
    says: /names no class/,
  },
  {
    name: "has a class that is missing",
    change: { ingressClass: undefined },
    state: "NoClass",
    says: /class orlop does not exist/,
  },
  {
    name: "has no address",
    change: { ingress: read(Ingress, { metadata, spec }) as Ingress },
    state: "NoController",
    says: /orlop.dev\/ingress has not served it/,
  },
  {
    name: "has no service",
    change: { services: new Map([["web", undefined]]) },
    state: "NoService",
    says: /service web does not exist/,
  },
  {
    name: "names a port that is missing",
    change: {
      services: new Map([
        ["web", { ...web, service: read(Service, { metadata, spec: { ports: [{ port: 81 }] } }) as Service }],
      ]),
    },
    state: "NoPort",
    says: /has no port 80/,
  },
  {
    name: "has no certificate",
    change: { secrets: new Map([["cert", undefined]]) },
    state: "NoCertificate",
    says: /secret cert does not exist/,
  },
  {
    name: "has a secret of another type",
    change: { secrets: new Map([["cert", "Opaque"]]) },
    state: "NoCertificate",
    says: /type Opaque/,
  },
  {
    name: "is ignored in part",
    change: { events: [event("IngressIgnored", "host a belongs to another")] },
    state: "PartIgnored",
    says: /part of Ingress web is ignored/,
  },
  {
    name: "was ignored before",
    change: { events: [event("IngressIgnored", "x"), event("IngressInPlace", "y")] },
    state: "Serving",
    says: /nothing is stuck/,
  },
  {
    name: "has a service without endpoints",
    change: { services: new Map([["web", { ...web, slices: [] }]]) },
    state: "NoEndpoints",
    says: /Requests of Ingress web fail: Service web has no endpoints/,
  },
  {
    name: "had requests that failed",
    change: { events: [event("RequestsFailed", "3 requests got no answer")] },
    state: "RequestsFailed",
    says: /some of its requests failed/,
  },
];
for (const { name, change, state, says } of cases) {
  test(`why explains an Ingress that ${name}`, () => {
    const explained = explainIngress({ ...facts, ...change }, () => undefined);

    assert.equal(explained.state, state);
    assert.match(explained.headline, says);
  });
}
