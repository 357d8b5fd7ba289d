import assert from "node:assert/strict";
import { test } from "node:test";
import { APIService } from "#api/apiregistration/api-service.ts";
import { build } from "#testing/build.ts";
import { explain } from "../explain.ts";

const service = { namespace: "ext", name: "server" };
const about = (reason: string | undefined, message: string, remote = true) => {
  const status = reason === "Passed" || reason === "Local" ? "True" : "False";
  const apiService = build(APIService, {
    metadata: { name: "v1.example.com" },
    spec: {
      group: "example.com",
      version: "v1",
      groupPriorityMinimum: 1,
      versionPriority: 1,
      ...(remote ? { service } : {}),
    },
    status: { conditions: reason ? [{ type: "Available", status, reason, message }] : [] },
  });
  return explain({ about: "apiService", apiService });
};

test("explain() says who serves a group", () => {
  assert.equal(
    about("Local", "always", false).headline,
    "APIService v1.example.com is served by the API server itself.",
  );
  assert.match(about("Passed", "all checks passed").headline, /is available: service ext\/server port 443 answers/);
  assert.equal(about(undefined, "").state, "Unknown");
});

const faults = [
  { reason: "ServiceNotFound", message: 'service/server in "ext" is not present', helps: /Create the service/ },
  { reason: "MissingEndpoints", message: "none", helps: /orlop why service/ },
  { reason: "FailedDiscoveryCheck", message: "x509: certificate signed by unknown", helps: /for server\.ext\.svc/ },
  { reason: "FailedDiscoveryCheck", message: "bad status from https://10.0.0.1/apis: 401", helps: /front proxy/ },
  { reason: "FailedDiscoveryCheck", message: "context deadline exceeded", helps: /within 5 seconds/ },
];
for (const { reason, message, helps } of faults) {
  test(`explain() says what helps against ${message}`, () => {
    const { state, evidence, advice } = about(reason, message);

    assert.deepEqual([state, evidence], [reason, [`${reason}: ${message}`]]);
    assert.match(advice[0] ?? "", helps);
    assert.match(advice[1] ?? "", /kubectl delete apiservice v1\.example\.com/);
  });
}
