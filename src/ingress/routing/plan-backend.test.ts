import assert from "node:assert/strict";
import { test } from "node:test";
import { Service } from "#api/core/service.ts";
import { EndpointSlice } from "#api/discovery/endpoint-slice.ts";
import { read } from "#api/faults.suite.ts";
import { planBackend } from "./plan-backend.ts";

const metadata = { name: "web", namespace: "a" };
const service = (spec: object) => read(Service, { metadata, spec }) as Service;
const slice = (endpoints: readonly object[], ports: readonly object[] = [{ name: "http", port: 8080 }]) =>
  read(EndpointSlice, { metadata, addressType: "IPv4", endpoints, ports }) as EndpointSlice;

const web = service({
  ports: [
    { name: "http", port: 80 },
    { name: "dns", port: 53, protocol: "UDP" },
  ],
});
const at = (address: string, conditions: object = {}) => ({ addresses: [address], conditions });
const ending = { ready: false, serving: true, terminating: true };

const facts = { namespace: "a", name: "web", port: "80", service: web, slices: [slice([at("10.0.0.1")])] };
const cases: readonly { name: string; change: object; endpoints?: readonly string[]; fault?: RegExp }[] = [
  { name: "by the number of a port", change: {}, endpoints: ["10.0.0.1:8080"] },
  { name: "by the name of a port", change: { port: "http" }, endpoints: ["10.0.0.1:8080"] },
  {
    name: "the ready ones",
    change: { slices: [slice([at("10.0.0.1"), at("10.0.0.2", { ready: false }), at("10.0.0.3", ending)])] },
    endpoints: ["10.0.0.1:8080"],
  },
  {
    name: "those that end, if none is ready",
    change: { slices: [slice([at("10.0.0.2", { ready: false }), at("10.0.0.3", ending)])] },
    endpoints: ["10.0.0.3:8080"],
  },
  {
    name: "each once",
    change: { slices: [slice([at("10.0.0.1")]), slice([at("10.0.0.1")])] },
    endpoints: ["10.0.0.1:8080"],
  },
  {
    name: "never the machine itself",
    change: { slices: [slice([at("127.0.0.1"), at("169.254.169.254"), at("0.0.0.0"), at("224.0.0.1")])] },
    fault: /has no endpoints that are ready/,
  },
  { name: "none without a service", change: { service: undefined }, fault: /service a\/web does not exist/ },
  { name: "none of another port", change: { port: "81" }, fault: /has no TCP port 81/ },
  { name: "none of a UDP port", change: { port: "dns" }, fault: /has no TCP port dns/ },
  {
    name: "none of an ExternalName",
    change: { service: service({ type: "ExternalName", externalName: "localhost" }) },
    fault: /ExternalName, which is not supported/,
  },
  {
    name: "none with TLS",
    change: { service: service({ ports: [{ port: 80, appProtocol: "https" }] }) },
    fault: /TLS to backends is not supported/,
  },
  {
    name: "those with TLS, for bytes of the client",
    change: { isBytes: true, service: service({ ports: [{ name: "http", port: 80, appProtocol: "https" }] }) },
    endpoints: ["10.0.0.1:8080"],
  },
];
for (const { name, change, endpoints = [], fault } of cases) {
  test(`a backend has endpoints: ${name}`, () => {
    const planned = planBackend({ ...facts, ...change });

    assert.deepEqual(
      planned.endpoints.map(({ address, port }) => `${address}:${port}`),
      endpoints,
    );
    assert.match(planned.fault ?? "", fault ?? /^$/);
  });
}

test("a service can say that it speaks HTTP/2", () => {
  const spoken = service({ ports: [{ name: "http", port: 80, appProtocol: "kubernetes.io/h2c" }] });

  assert.equal(planBackend({ ...facts, service: spoken }).isHttp2, true);
});
