import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import { CertificateSigningRequest } from "#api/certificates/certificate-signing-request.ts";
import { Node } from "#api/core/node.ts";
import { Pod } from "#api/core/pod.ts";
import { Secret } from "#api/core/secret.ts";
import { ServiceAccount } from "#api/core/service-account.ts";
import { EndpointSlice } from "#api/discovery/endpoint-slice.ts";
import { isForbidden, StatusError } from "#api/status.ts";
import { systemClock } from "#lib/async/clock.ts";
import { neverAborted } from "#lib/async/tasks.ts";
import { readSubject } from "#lib/crypto/x509.ts";
import { systemRandom } from "#lib/data/random.ts";
import { silentLog } from "#lib/process/log.ts";
import { startControlPlane } from "../control-plane.ts";
import { authorityHashOf, JoinError, parseJoinToken } from "./cluster-info.ts";
import { explainJoin } from "./discover.ts";
import { type CredentialOptions, openNodeCredentials } from "./node-credentials.ts";
import { createJoinToken } from "./tokens.ts";

const base = { clock: systemClock, log: silentLog, random: systemRandom };

/** A control plane that machines can join over HTTPS, and a directory for each of them. */
async function startPlane() {
  await using stack = new AsyncDisposableStack();
  const dir = await mkdtemp(path.join(tmpdir(), "orlop-join-"));
  stack.defer(() => rm(dir, { recursive: true }));
  const security = { bootstrapTokens: true };
  const listen = { host: "127.0.0.1", port: 0 };
  const plane = stack.use(await startControlPlane({ ...base, ...listen, dataDir: dir, store: "memory", security }));
  const stop = new AbortController();
  const ended = plane.run(stop.signal).catch(() => undefined);
  stack.defer(async () => {
    stop.abort(new Error("the test is over"));
    await ended;
  });
  const admin = plane.clientFor({ name: "admin", groups: ["system:masters"] });
  const caHashes = [authorityHashOf(plane.certificates.pki.authority.certificate)];
  const newToken = (expiresMs = systemClock.now() + 600_000) => createJoinToken(admin, { expiresMs });
  const options = (nodeName: string, token: string): CredentialOptions => ({
    ...base,
    ...{ nodeName, dir: path.join(dir, nodeName), server: plane.url },
    invitation: { token: parseJoinToken(token), caHashes },
  });
  const held = stack.move();
  return { plane, admin, newToken, options, [Symbol.asyncDispose]: () => held.disposeAsync() };
}
const open = (options: CredentialOptions) => openNodeCredentials(options, neverAborted);
const refuses = async (options: CredentialOptions, why: RegExp) => {
  const error = await open(options).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  assert(error instanceof JoinError, String(error));
  assert.match(error.message, why);
  assert.doesNotMatch(error.message, /\n/);
};

test("a machine joins with a token, gets its certificates, and needs no token the next time", async () => {
  await using started = await startPlane();
  const { admin, newToken, options } = started;
  const own = options("one", await newToken());
  await using credentials = await open(own);
  const { client } = credentials;
  const addresses = [{ type: "InternalIP", address: "10.1.2.3" }];

  await client.create(Node, { metadata: { name: "one" }, status: { addresses } });
  const server = await credentials.serving(["10.1.2.3"], neverAborted);
  await using again = await open({ ...own, invitation: undefined });

  assert.equal((await again.client.get(Node, { name: "one" })).metadata.name, "one");
  const certificate = new X509Certificate(server.current.certificate);
  assert.equal(readSubject(certificate).commonName, "system:node:one");
  assert.equal(certificate.checkIP("10.1.2.3"), "10.1.2.3");
  const { items } = await admin.list(CertificateSigningRequest);
  assert.equal(items.length, 3);
});

test("a machine that must not join is told why in one line", async () => {
  await using started = await startPlane();
  const { admin, newToken, options } = started;
  const good = await newToken();
  const expired = await newToken(systemClock.now() - 1000);
  await admin.create(Node, { metadata: { name: "taken" } });
  const hashes = (...caHashes: string[]) => ({ invitation: { token: parseJoinToken(good), caHashes } });

  await refuses(options("a", "aaaaaa.0123456789abcdef"), /does not know the token aaaaaa/);
  await refuses(options("b", expired), /wrong, expired or used up/);
  await refuses(options("c", `${good.slice(0, 6)}.0123456789abcdef`), /its second part is wrong/);
  await refuses({ ...options("d", good), ...hashes(`sha256:${"0".repeat(64)}`) }, /this is another cluster/);
  await refuses({ ...options("e", good), server: "https://127.0.0.1:1" }, /no server answers there/);
  await refuses(options("taken", good), /there is a node taken already: delete it first/);
  await refuses({ ...options("f", good), invitation: undefined }, /give it a token/);
});

test("the token alone gives no rights but to ask for a certificate", async () => {
  await using started = await startPlane();
  const { plane, newToken } = started;
  const token = await newToken();
  const bearer = plane.clientFor({
    name: `system:bootstrap:${token.slice(0, 6)}`,
    groups: ["system:bootstrappers", "system:bootstrappers:kubeadm:default-node-token", "system:authenticated"],
  });

  await assert.rejects(bearer.list(Secret, { namespace: "kube-system" }), isForbidden);
  await assert.rejects(bearer.list(Node), isForbidden);
});

test("over HTTPS a node reaches only the objects of its own pods, and its network only addresses", async () => {
  await using started = await startPlane();
  const { admin, newToken, options } = started;
  await admin.create(ServiceAccount, { metadata: { namespace: "default", name: "default" } }).catch(() => undefined);
  for (const name of ["one", "two"]) {
    await admin.create(Secret, { metadata: { namespace: "default", name }, data: { key: "dmFsdWU=" } });
    const volumes = [{ name: "s", secret: { secretName: name } }];
    const spec = { nodeName: name, containers: [{ name: "c", image: "i" }], volumes };
    await admin.create(Pod, { metadata: { namespace: "default", name }, spec });
  }
  await using credentials = await open(options("one", await newToken()));
  const { client, servicesClient } = credentials;
  const [own, other] = [
    { namespace: "default", name: "one" },
    { namespace: "default", name: "two" },
  ];

  assert.equal((await client.get(Secret, own)).metadata.name, "one");
  assert.equal((await client.get(Pod, own)).metadata.name, "one");
  assert.equal((await client.list(Pod, { fieldSelector: "spec.nodeName=one" })).items.length, 1);
  const forbidden = [
    client.get(Secret, other),
    client.get(Pod, other),
    client.list(Pod),
    client.list(Pod, { fieldSelector: "spec.nodeName=two" }),
    client.list(Secret, { namespace: "default" }),
    client.list(Node),
    client.delete(Pod, other),
    client.create(Node, { metadata: { name: "two" } }),
    servicesClient.get(Secret, own),
    servicesClient.list(Secret, { namespace: "default" }),
    servicesClient.delete(Pod, own),
    servicesClient.create(EndpointSlice, {
      metadata: { namespace: "default", name: "x" },
      addressType: "IPv4",
      endpoints: [],
    }),
    servicesClient.delete(Node, { name: "one" }),
  ];
  await Promise.all(forbidden.map((attempt) => assert.rejects(attempt, isForbidden)));
  assert.equal((await servicesClient.list(Pod, { namespace: "default" })).items.length, 2);
});

test("a damaged certificate on the disk is replaced, and one for another name is not used", async () => {
  await using started = await startPlane();
  const { newToken, options } = started;
  const own = options("one", await newToken());
  await using _first = await open(own);
  const file = path.join(own.dir, "node-services.pem");
  const before = await readFile(file, "utf8");
  await writeFile(file, before.slice(0, 300));

  await using _second = await open({ ...own, invitation: undefined });

  assert.notEqual(await readFile(file, "utf8"), before);
  await refuses({ ...own, nodeName: "other", invitation: undefined }, /has expired: give it a token/);
});

for (const [code, why] of [
  ["CERT_NOT_YET_VALID", /not valid at this machine's time: set the clock/],
  ["CERT_HAS_EXPIRED", /not valid at this machine's time: set the clock/],
  ["ERR_TLS_CERT_ALTNAME_INVALID", /for other names and addresses/],
  ["EHOSTUNREACH", /there is no way/],
] as const) {
  test(`explainJoin() explains ${code}`, () => {
    const cause = Object.assign(new Error("x"), { code });
    const error = explainJoin(new StatusError("ServiceUnavailable", "no answer", undefined, { cause }), "https://a:1");

    assert(error instanceof JoinError);
    assert.match(error.message, why);
  });
}
