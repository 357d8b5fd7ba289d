/** A server in this process, without sockets and disk, that is asked to create pods one after another. */
import { ServiceAccount } from "#api/core/service-account.ts";
import { type AssembledServer, type AssembleOptions, assembleApiServer } from "#cluster/api-server.ts";
import { bootstrapCluster } from "#cluster/bootstrap.ts";
import { systemClock } from "#lib/async/clock.ts";
import { signingKey } from "#lib/crypto/jwt.ts";
import { createKey, keyToPem } from "#lib/crypto/x509.ts";
import { systemRandom } from "#lib/data/random.ts";
import { silentLog } from "#lib/process/log.ts";
import { WireRequest } from "#server/http/wire-request.ts";
import { openMemoryStore } from "#store/memory.ts";
import { json } from "./connections.ts";
import { pod } from "./objects.ts";

export interface InProcessServer extends AsyncDisposable {
  readonly api: AssembledServer;
}

export async function openServer(options: Partial<AssembleOptions> = {}): Promise<InProcessServer> {
  const store = openMemoryStore({ clock: systemClock });
  const deps = { store, clock: systemClock, log: silentLog, random: systemRandom };
  const key = signingKey(keyToPem(createKey()));
  const api = await assembleApiServer({ ...deps, signingKey: key, serverAddress: "127.0.0.1:6443", ...options });
  await bootstrapCluster(api.loopback);
  await api.loopback.create(ServiceAccount, { metadata: { name: "default", namespace: "default" } });
  return {
    api,
    async [Symbol.asyncDispose]() {
      await api[Symbol.asyncDispose]();
      await store[Symbol.asyncDispose]();
    },
  };
}

/** Creates a pod as an administrator would from outside. */
export async function createPod({ server }: AssembledServer, name: string): Promise<void> {
  const { wire } = await server.serve(createRequest(name));
  if (wire.type !== "body" || wire.status !== 201) throw new Error(`the pod ${name} was not created`);
}

/** As on a connection, all requests have the same peer, and what is known about it is found out once. */
const peer = { address: "127.0.0.1", certificate: { commonName: "bench", organizations: ["system:masters"] } };

function createRequest(name: string): WireRequest {
  const headers = { "content-type": "application/json", accept: "application/json" };
  const made = new WireRequest("POST", "/api/v1/namespaces/default/pods", { joined: headers }, peer);
  made.body = json(pod(name, { schedulerName: "nobody" }));
  return made;
}
