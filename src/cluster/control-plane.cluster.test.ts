import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { type IncomingMessage } from "node:http";
import https from "node:https";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import { Node } from "#api/core/node.ts";
import { Pod } from "#api/core/pod.ts";
import { Secret } from "#api/core/secret.ts";
import { ServiceAccount } from "#api/core/service-account.ts";
import { systemClock } from "#lib/async/clock.ts";
import { systemRandom } from "#lib/data/random.ts";
import { silentLog } from "#lib/process/log.ts";
import { issueClientCertificate } from "#server/http/tls.ts";
import { startControlPlane } from "./control-plane.ts";

async function startPlane() {
  const dataDir = await mkdtemp(path.join(tmpdir(), "orlop-plane-"));
  const base = { clock: systemClock, log: silentLog, random: systemRandom };
  const plane = await startControlPlane({ dataDir, store: "memory", host: "127.0.0.1", port: 0, ...base });
  return {
    plane,
    async [Symbol.asyncDispose]() {
      await plane[Symbol.asyncDispose]();
      await rm(dataDir, { recursive: true });
    },
  };
}

test("a Node with the API server's own address gives nobody the API server's rights", async () => {
  await using started = await startPlane();
  const { plane } = started;
  const admin = plane.clientFor({ name: "admin", groups: ["system:masters"] });
  await admin.create(Secret, { metadata: { name: "s", namespace: "default" }, data: { password: "aHVudGVyMg==" } });
  await admin.create(Node, { metadata: { name: "mirror" } });
  const status = {
    addresses: [{ type: "InternalIP", address: "127.0.0.1" }],
    daemonEndpoints: { kubeletEndpoint: { Port: plane.port } },
  };
  await admin.patch(Node, { name: "mirror" }, { type: "merge", body: { status } }, { subresource: "status" });
  await admin.create(ServiceAccount, { metadata: { name: "default", namespace: "default" } });
  const spec = { nodeName: "mirror", containers: [{ name: "a", image: "a" }] };
  await admin.create(Pod, { metadata: { name: "p", namespace: "default" }, spec });
  const read = async (path: string) => {
    const { status, body } = await admin.raw("GET", path);
    return { status, text: Buffer.from(body).toString() };
  };

  const secrets = await read("/api/v1/nodes/mirror/proxy/api/v1/namespaces/default/secrets");
  const log = await read("/api/v1/namespaces/default/pods/p/log?insecureSkipTLSVerifyBackend=true");

  assert.equal(secrets.status, 503);
  assert.match(secrets.text, /the certificate is for \\"kube-apiserver\\", not for \\"system:node:mirror\\"/);
  // The test does not check the certificate, so the connection succeeds and the API server refuses its own request.
  assert.match(log.text, /the server responded with the status code 403/);
});

test("the identity that the API server uses towards kubelets has no rights at the API server", async () => {
  await using started = await startPlane();
  const { url, certificates } = started.plane;
  const { pki } = certificates;
  const subject = { commonName: "kube-apiserver-kubelet-client" };
  const { key, certificate: cert } = issueClientCertificate(pki, systemClock, subject);
  const ca = pki.authority.certificate;

  const request = https.get(`${url}/api/v1/namespaces/default/secrets`, { key, cert, ca, agent: false });
  const [response] = (await once(request, "response")) as [IncomingMessage];
  const text = Buffer.concat(await Array.fromAsync<Buffer>(response)).toString();

  assert.equal(response.statusCode, 403);
  assert.match(text, /User \\"kube-apiserver-kubelet-client\\" cannot list resource \\"secrets\\"/);
});
