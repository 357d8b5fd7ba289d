import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { ask } from "#testing/ask.ts";
import { startCluster, type TestCluster } from "#testing/start-cluster.ts";

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
