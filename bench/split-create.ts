/** Splits the CPU time of one create: a server in this process, without sockets and disk, one create after another. */
import { Pod } from "#api/core/pod.ts";
import { ServiceAccount } from "#api/core/service-account.ts";
import { assembleApiServer } from "#cluster/api-server.ts";
import { bootstrapCluster } from "#cluster/bootstrap.ts";
import { systemClock } from "#lib/async/clock.ts";
import { signingKey } from "#lib/crypto/jwt.ts";
import { createKey, keyToPem } from "#lib/crypto/x509.ts";
import { systemRandom } from "#lib/data/random.ts";
import { silentLog } from "#lib/process/log.ts";
import { WireRequest } from "#server/http/wire-request.ts";
import { openMemoryStore } from "#store/memory.ts";
import { type Hop } from "#trace/hop.ts";
import { json } from "./lib/connections.ts";
import { pod } from "./lib/objects.ts";

/** Microseconds per create. */
export interface CreateSplit {
  /** Sockets, TLS and HTTP/2 in both directions, and wake-ups: the rest of the server's CPU time. */
  readonly receive: number;
  /** Parse, check against the schema, set defaults, record field owners. */
  readonly decode: number;
  /** Authenticate, authorise, mutate, validate, admit. */
  readonly stages: number;
  /** Encode, commit, update caches and watchers; includes the thread that writes to the disk. */
  readonly persist: number;
  readonly respond: number;
}

export interface ThreadTimes {
  /** All threads, in microseconds per create. */
  readonly total: number;
  /** The thread that writes to the disk. */
  readonly disk: number;
}

const warmUp = 3000;
const measured = 3000;

export async function splitCreate({ total, disk }: ThreadTimes): Promise<CreateSplit> {
  const store = openMemoryStore({ clock: systemClock });
  const deps = { store, clock: systemClock, log: silentLog, random: systemRandom };
  const key = signingKey(keyToPem(createKey()));
  await using api = await assembleApiServer({ ...deps, signingKey: key, serverAddress: "127.0.0.1:6443" });
  const client = api.loopback;
  await bootstrapCluster(client);
  await client.create(ServiceAccount, { metadata: { name: "default", namespace: "default" } });

  const serve = api.server.serve.bind(api.server);
  for (let n = 0; n < warmUp; n++) await serve(request(`warm-${n}`));
  const start = performance.now();
  for (let n = 0; n < measured; n++) await serve(request(`pod-${n}`));
  const wholeUs = ((performance.now() - start) * 1000) / measured;

  const steps = sumSteps(api.recorder.all());
  const persist = steps.persist + disk;
  const respond = wholeUs - steps.decode - steps.stages - steps.persist;
  return { receive: total - disk - wholeUs, decode: steps.decode, stages: steps.stages, persist, respond };
}

function request(name: string): WireRequest {
  const peer = { address: "127.0.0.1", certificate: { commonName: "bench", organizations: ["system:masters"] } };
  const headers = { "content-type": "application/json", accept: "application/json" };
  const made = new WireRequest("POST", "/api/v1/namespaces/default/pods", { joined: headers }, peer);
  made.body = json(pod(name, { schedulerName: "nobody" }));
  return made;
}

/** The recorder keeps every write with its steps in order. A write's first `schema` step is the decoding. */
function sumSteps(hops: Iterable<Hop>): Pick<CreateSplit, "decode" | "stages" | "persist"> {
  const sums = { decode: 0, stages: 0, persist: 0 };
  let isMeasured = false;
  let isDecoded = false;
  for (const { hop, object, durationMs } of hops) {
    if (hop === "client") {
      isMeasured = object?.resource === Pod.plural && object.name.startsWith("pod-");
      isDecoded = false;
    } else if (isMeasured) {
      const isDecode: boolean = hop === "schema" && !isDecoded;
      isDecoded ||= isDecode;
      const part = isDecode ? "decode" : hop === "persist" || hop === "broadcast" ? "persist" : "stages";
      sums[part] += (durationMs * 1000) / measured;
    }
  }
  return sums;
}
