import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import https from "node:https";
import { tmpdir } from "node:os";
import { test } from "node:test";
import { type TLSSocket } from "node:tls";
import { Node } from "#api/core/node.ts";
import { apiServerName } from "#kubelet/server/access.ts";
import type { KubeletHandle } from "#kubelet/server/handle.ts";
import { neverAborted } from "#lib/async/tasks.ts";
import { systemRandom } from "#lib/data/random.ts";
import { silentLog } from "#lib/process/log.ts";
import { issueClientCertificate } from "#server/http/tls.ts";
import { createVirtualClock, type VirtualClock } from "#testing/virtual-clock.ts";
import { startControlPlane } from "./control-plane.ts";
import { ownIdentity, serveKubelet } from "./serve-kubelet.ts";

const dayMs = 86_400_000;
const notUsed = (): never => assert.fail("not asked for");
const handle: KubeletHandle = {
  nodeName: "one",
  logs: notUsed,
  execUrl: notUsed,
  attachUrl: notUsed,
  portForwardUrl: notUsed,
  run: notUsed,
  pods: () => [],
  stats: notUsed,
};

/** A control plane and the server of one node. TLS goes by the real time, so all certificates must be good at that time. */
async function startNode(clock: VirtualClock) {
  await using stack = new AsyncDisposableStack();
  const dataDir = await mkdtemp(`${tmpdir()}/orlop-renewal-`);
  stack.defer(() => rm(dataDir, { recursive: true }));
  const base = { clock, log: silentLog };
  const listen = { host: "127.0.0.1", port: 0 };
  const plane = stack.use(
    await startControlPlane({ ...base, ...listen, random: systemRandom, dataDir, store: "memory" }),
  );
  const client = plane.clientFor({ name: "admin", groups: ["system:masters"] });
  const { certificates } = plane;
  const machine = { addresses: [], hostname: "one" };
  const identity = ownIdentity(certificates, "one", clock);
  const options = { ...base, nodeName: "one", kubeletPort: 0, client, identity };
  const kubelet = stack.use(await serveKubelet(options, { machine, handle }, neverAborted));
  const addresses = [{ type: "InternalIP", address: "127.0.0.1" }];
  const daemonEndpoints = { kubeletEndpoint: { Port: kubelet.port } };
  await client.create(Node, { metadata: { name: "one" }, status: { addresses, daemonEndpoints } });
  const running = stack.move();
  return { client, certificates, kubelet, [Symbol.asyncDispose]: () => running.disposeAsync() };
}

/** The number of the certificate that the node shows, and whether it was shown before on the same connection. */
async function ask(port: number, agent: https.Agent): Promise<{ serial: string; reused: boolean; status: number }> {
  const request = https.get({ port, host: "127.0.0.1", path: "/pods", agent });
  const [response] = (await once(request, "response")) as [IncomingMessage];
  const { serialNumber: serial } = (response.socket as TLSSocket).getPeerCertificate();
  await once(response.resume(), "end");
  return { serial, reused: request.reusedSocket, status: response.statusCode ?? 0 };
}

test("a node's renewed certificate is for new connections, and the API server asks with its renewed one", async () => {
  const clock = createVirtualClock(Date.now() - 280 * dayMs);
  await using node = await startNode(clock);
  const { client, certificates, kubelet } = node;
  const { key, certificate: cert } = issueClientCertificate(certificates.pki, clock, {
    commonName: apiServerName,
    organizations: [],
  });
  const ca = certificates.pki.authority.certificate;
  const agentOf = () => new https.Agent({ key, cert, ca, keepAlive: true, maxSockets: 1 });
  const [old, other] = [agentOf(), agentOf()];
  const path = "/api/v1/nodes/one/proxy/pods";
  const before = await ask(kubelet.port, old);
  const askedBefore = await client.raw("GET", path);

  await clock.advance(280 * dayMs);
  await certificates.renew();
  const open = await ask(kubelet.port, old);
  const fresh = await ask(kubelet.port, other);
  // By now the first certificates of all have ended, by the clock that the node goes by.
  await clock.advance(100 * dayMs);
  const ended = await ask(kubelet.port, old);
  const askedAfter = await client.raw("GET", path);

  old.destroy();
  other.destroy();
  assert.deepEqual(open, { ...before, reused: true });
  assert.notEqual(fresh.serial, before.serial);
  assert.deepEqual([before.status, fresh.status, ended.status], [200, 200, 401]);
  assert.deepEqual([askedBefore.status, askedAfter.status], [200, 200]);
});
