import assert from "node:assert/strict";
import { test } from "node:test";
import { type SelfSubjectReview } from "#api/authentication/self-subject-review.ts";
import { ConfigMap } from "#api/core/config-map.ts";
import { systemClock } from "#lib/async/clock.ts";
import { createAuthority, createCertificate, type KeyPair } from "#lib/crypto/x509.ts";
import { silentLog } from "#lib/process/log.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { planTrust, publishTrust } from "./publish-trust.ts";
import { makeFiles, startPlane } from "./security.suite.ts";

const validity = { notBeforeMs: systemClock.now() - 60_000, notAfterMs: systemClock.now() + 3_600_000 };
const authority = createAuthority({ subject: { commonName: "proxies" }, ...validity });
const other = createAuthority({ subject: { commonName: "somebody" }, ...validity });
const clientOf = (issuer: KeyPair, commonName: string) =>
  createCertificate(issuer, { subject: { commonName, organizations: ["system:masters"] }, use: "client", ...validity });
const options = {
  usernameHeaders: ["X-Remote-User"],
  uidHeaders: [],
  groupHeaders: ["X-Remote-Group"],
  extraPrefixes: ["X-Remote-Extra-"],
  allowedNames: ["front"],
};

test("a front proxy says who its callers are, and nobody else can", async () => {
  await using files = await makeFiles();
  const caFile = await files.write("proxies.crt", authority.certificate);
  await using started = await startPlane({ frontProxy: { ...options, caFile } }, files.dir);
  const whoIs = async (pair: KeyPair | undefined, headers: Record<string, string>): Promise<string> => {
    const client = started.clientWith(pair ? { cert: pair.certificate, key: pair.key } : {});
    const review = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };
    const { status, body } = await client.raw("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", {
      headers: { "content-type": "application/json", ...headers },
      body: Buffer.from(JSON.stringify(review)),
    });
    if (status !== 201) return String(status);
    const { userInfo } = (JSON.parse(Buffer.from(body).toString()) as SelfSubjectReview).status;
    return `${userInfo?.username}: ${userInfo?.groups?.join("|")}`;
  };
  const jane = { "x-remote-user": "jane", "x-remote-group": "dev, ops" };
  const { authority: own } = started.plane.certificates.pki;

  assert.equal(await whoIs(clientOf(authority, "front"), jane), "jane: dev, ops|system:authenticated");
  assert.equal(await whoIs(clientOf(authority, "front"), {}), "401", "the proxy itself is nobody");
  assert.equal(await whoIs(clientOf(authority, "back"), jane), "401", "another proxy");
  assert.equal(await whoIs(clientOf(own, "front"), jane), "front: system:masters|system:authenticated");
  assert.equal(await whoIs(clientOf(other, "front"), jane), "401");
  assert.equal(await whoIs(undefined, jane), "403", "anonymous callers may not ask");
});

test("a server does not start if every client could be a proxy", async () => {
  await using files = await makeFiles();
  await using first = await startPlane({}, files.dir);
  const caFile = await files.write("ca.crt", first.plane.certificates.pki.authority.certificate);
  const frontProxy = { ...options, allowedNames: [], caFile };

  await assert.rejects(startPlane({ frontProxy }, files.dir), {
    message: /name them with --requestheader-allowed-names/,
  });
  const empty = await files.write("empty.crt", "nothing");
  await assert.rejects(startPlane({ frontProxy: { ...options, caFile: empty } }, files.dir), {
    message: /empty.crt has no certificate in PEM/,
  });
});

test("the server publishes whom it trusts, and again when that is deleted", async () => {
  await using files = await makeFiles();
  await using started = await startPlane({}, files.dir);
  const { api, certificates } = started.plane;
  const trust = {
    clientCa: certificates.pki.authority.certificate,
    frontProxy: { ca: authority.certificate, options },
  };
  const stop = new AbortController();
  const deps = { client: api.loopback, informers: api.informers, clock: createVirtualClock(), log: silentLog };
  const running = publishTrust({ ...deps, trust: () => trust }, stop.signal).catch(() => {});
  const place = { namespace: "kube-system", name: "extension-apiserver-authentication" };
  const published = async (): Promise<ConfigMap> => {
    for (;;) {
      const found = api.informers.of(ConfigMap).get(place);
      if (found) return found;
      await new Promise(setImmediate);
    }
  };

  const first = await published();
  await started.admin.delete(ConfigMap, first.metadata);
  const second = await published();

  assert.equal(second.data?.["client-ca-file"]?.trim(), trust.clientCa.trim());
  assert.equal(second.data?.["requestheader-allowed-names"], '["front"]');
  assert.equal(second.data?.["requestheader-uid-headers"], undefined);
  assert.deepEqual(first.data, second.data);
  stop.abort();
  await running;
});

test("planTrust() keeps what other servers wrote, without rubbish and expired certificates", () => {
  const now = systemClock.now();
  const old = createAuthority({
    subject: { commonName: "old" },
    notBeforeMs: now - 7_200_000,
    notAfterMs: now - 3_600_000,
  });
  const current = {
    "client-ca-file": `${old.certificate}${other.certificate}${authority.certificate}rubbish`,
    "requestheader-allowed-names": '["theirs", 7, "front"]',
    "requestheader-group-headers": "{",
  };

  const planned = planTrust(
    current,
    { clientCa: authority.certificate, frontProxy: { ca: other.certificate, options } },
    now,
  );

  assert.equal(planned["client-ca-file"], other.certificate + authority.certificate);
  assert.equal(planned["requestheader-allowed-names"], '["theirs","front"]');
  assert.equal(planned["requestheader-group-headers"], '["X-Remote-Group"]');
  assert.deepEqual(planTrust(planned, { clientCa: authority.certificate }, now), planned);
});
