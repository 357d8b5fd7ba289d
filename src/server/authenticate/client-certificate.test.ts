import assert from "node:assert/strict";
import { test } from "node:test";
import { anonymous, anonymousUser } from "./anonymous.ts";
import { request } from "./authenticate.suite.ts";
import { identify } from "./chain.ts";
import { clientCertificate } from "./client-certificate.ts";

const ask = (peer: object) =>
  identify([clientCertificate, anonymous()], request({ peer: { address: "127.0.0.1", ...peer } }));

test("clientCertificate uses the common name as the user and the organizations as groups", async () => {
  const user = await ask({ certificate: { commonName: "jane", organizations: ["dev", "ops"] } });

  assert.equal(user.name, "jane");
  assert.deepEqual(user.groups, ["dev", "ops"]);
});

test("clientCertificate says which certificate was shown", async () => {
  const user = await ask({ certificate: { commonName: "jane", organizations: [], fingerprint: "0aff" } });

  assert.deepEqual(user.extra, { "authentication.kubernetes.io/credential-id": ["X509SHA256=0aff"] });
});

test("clientCertificate has no opinion without a certificate", () => {
  assert.equal(ask({}), anonymousUser);
});

test("clientCertificate refuses a certificate that was not verified", () => {
  const certificate = { commonName: "jane", organizations: [] };

  assert.throws(() => ask({ certificate, certificateFault: "CERT_HAS_EXPIRED" }), { code: 401 });
  assert.throws(() => ask({ certificateFault: "UNABLE_TO_VERIFY" }), { code: 401 });
});
