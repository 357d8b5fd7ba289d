import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Resource } from "#api/resource.ts";
import { ask } from "#testing/peers/ask.ts";
import { startCluster, type TestCluster } from "#testing/start-cluster.ts";
import { Part } from "#testing/widget.ts";
import { type DispatchDeps, dispatch } from "./dispatch.ts";
import { ResourceRegistry } from "./registry.ts";

let cluster: TestCluster;
before(async () => {
  cluster = await startCluster({ controllers: false });
});
after(() => cluster[Symbol.asyncDispose]());

const body = { kind: "ConfigMap", apiVersion: "v1", metadata: { name: "a" } };

const answers: Readonly<Record<string, number>> = {
  "GET /api/v1/namespaces/default/configmaps/": 200,
  "GET /api/v1/namespaces/default/": 200,
  "HEAD /api/v1/configmaps": 200,
  "OPTIONS /api/v1/configmaps": 405,
  "BREW /api/v1/configmaps": 405,
  "POST /api/v1/configmaps": 405,
  "DELETE /api/v1/configmaps": 405,
  "PUT /api/v1/namespaces/default/configmaps": 405,
  "PATCH /api/v1/namespaces/default/configmaps": 405,
  "POST /api/v1/namespaces/default/configmaps/a": 405,
  "POST /apis/authentication.k8s.io/v1/selfsubjectreviews/a": 404,
  "GET /apis/authorization.k8s.io/v1/subjectaccessreviews/a": 404,
  "GET /apis/authorization.k8s.io/v1/subjectaccessreviews": 405,
  "DELETE /api/v1/namespaces": 405,
  "GET /api/v1/namespaces/default/pods/web/binding": 405,
  "GET /api/v1/namespaces/default/pods/web/eviction": 405,
  "POST /api/v1/bindings": 405,
  "GET /api/v1/configmaps/a": 404,
  "GET /api/v1/namespaces//configmaps": 404,
  "GET /api/v1/namespaces/default/nodes": 404,
  "GET /api/v1/namespaces/default/configmaps/a/b": 404,
  "GET /api/v1/namespaces/default/pods/web/status/more": 404,
  "GET /api/v1/pods/web/status": 404,
  "GET /api/v1/nothing": 404,
  "GET /apis//v1/configmaps": 404,
  "GET /apis/nothing/v1/configmaps": 404,
  "GET /nothing": 404,
  "POST /version": 405,
};

for (const [line, status] of Object.entries(answers)) {
  test(`${line} is answered with ${status}`, async () => {
    const said = await ask(cluster.api.server, line, /^P(OST|UT|ATCH)/.test(line) ? { body } : {});

    assert.equal(said.status, status, JSON.stringify(said.json));
  });
}

const answersWithoutNode = {
  log: { status: 204, says: undefined },
  exec: { status: 400, says: "pod web does not have a host assigned" },
  attach: { status: 400, says: "pod web does not have a host assigned" },
  portforward: { status: 400, says: "pod web does not have a host assigned" },
  proxy: { status: 400, says: "address not allowed" },
};

test("subresources that need a node never return the pod itself while it has none", async () => {
  const pod = { metadata: { name: "web" }, spec: { containers: [{ name: "web", image: "web:1" }] } };
  const account = { metadata: { name: "default" } };
  await ask(cluster.api.server, "POST /api/v1/namespaces/default/serviceaccounts", { body: account });
  await ask(cluster.api.server, "POST /api/v1/namespaces/default/pods", { body: pod });

  for (const [part, { status, says }] of Object.entries(answersWithoutNode)) {
    const said = await ask(cluster.api.server, `GET /api/v1/namespaces/default/pods/web/${part}`);

    assert.deepEqual([said.status, said.json.message], [status, says], part);
  }
});

test("every request for a deprecated kind is answered with a warning", async () => {
  const said = (line: string, body?: object) => ask(cluster.api.server, line, body ? { body } : {});
  const endpoints = { metadata: { name: "web" }, subsets: [{ addresses: [{ ip: "10.0.0.1" }] }] };
  const path = "/api/v1/namespaces/default/endpoints";
  const expected = ['299 - "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"'];

  assert.deepEqual((await said(`POST ${path}`, endpoints)).warnings, expected);
  assert.deepEqual((await said(`GET ${path}/web`)).warnings, expected);
  assert.deepEqual((await said("GET /api/v1/endpoints")).warnings, expected);
  assert.deepEqual((await said(`DELETE ${path}/web`)).warnings, expected);
  assert.deepEqual((await said("GET /api/v1/namespaces/default/configmaps")).warnings, []);
});

test("a server does not start with a subresource that has no endpoint", () => {
  const resource = { ...Part, subresources: [{ name: "polish", verbs: ["create"] }] };
  const resources = new ResourceRegistry([resource as unknown as Resource]);
  const deps = { resources, subresources: new Map() } as unknown as DispatchDeps;

  assert.throws(() => dispatch(deps), /no endpoint for parts\/polish/);
});
