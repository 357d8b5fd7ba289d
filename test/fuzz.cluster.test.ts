import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { allResources } from "#api/all.ts";
import { Deployment } from "#api/apps/deployment.ts";
import { ConfigMap } from "#api/core/config-map.ts";
import { Namespace } from "#api/core/namespace.ts";
import { Node } from "#api/core/node.ts";
import { Pod } from "#api/core/pod.ts";
import { Service } from "#api/core/service.ts";
import { ServiceAccount } from "#api/core/service-account.ts";
import { type ApiRequest } from "#api/exchange.ts";
import { type ApiObject, type InputOf, type Resource } from "#api/resource.ts";
import { isAlreadyExists } from "#api/status.ts";
import { neverAborted } from "#lib/async/tasks.ts";
import { type Log, silentLog } from "#lib/process/log.ts";
import { type Wire } from "#server/http/respond.ts";
import { type Served } from "#server/server.ts";
import { Random } from "#testing/arbitrary.ts";
import { startCluster, type TestCluster } from "#testing/start-cluster.ts";
import { type Damaged, damagedRequest, makeSamples } from "./support/damage.ts";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

const admin = { name: "fuzzer", groups: ["system:masters", "system:authenticated"] };
const total = Number(process.env.ORLOP_FUZZ_REQUESTS ?? 30_000);
const seed = Number(process.env.ORLOP_FUZZ_SEED ?? 1);

test(`${total} damaged requests each get a clear answer, and leave nothing behind`, async () => {
  await using cluster = await startCluster({
    controllers: false,
    log: rememberingLog,
    historyLimits: { maxAgeMs: 60_000, maxEvents: 1000, maxBytes: 4 << 20 },
  });
  const random = new Random(seed);
  const samples = await makeSamples(random, 3);
  await addTargets(cluster);
  const wrong = new Map<string, string>();
  const codes = new Map<number, number>();

  let warmHeap = 0;
  for (let i = 0; i < total; i++) {
    const damaged = damagedRequest(random, samples);
    const { code, fault } = await ask(cluster, damaged);
    codes.set(code, (codes.get(code) ?? 0) + 1);
    if (fault) wrong.set(fault.replaceAll(/\d+/g, "N").slice(0, 120), `${fault}\n${show(damaged)}`);
    if (i % 5000 === 4999) await tidyUp(cluster);
    if (i === Math.floor(total / 3)) warmHeap = await heapOf(cluster);
  }
  const growth = (await heapOf(cluster)) - warmHeap;

  assert.deepEqual([...wrong.values()].slice(0, 10), []);
  assert((codes.get(200) ?? 0) + (codes.get(201) ?? 0) > total / 100, "some requests must have been good enough");
  assert(growth < Math.max(12 << 20, 300 * total), `the heap grew by ${Math.round(growth / 1024)} KiB`);
});

/** Creates the objects to patch. An object that a damaged request deleted is created again. */
async function addTargets({ client }: TestCluster): Promise<void> {
  const add = async <T extends ApiObject>(resource: Resource<T>, object: InputOf<T>): Promise<void> => {
    await client.create(resource, object).catch((error: unknown) => assert(isAlreadyExists(error), String(error)));
  };
  const namespace = "fuzz";
  const name = "target";
  const metadata = { namespace, name, labels: { app: "fuzz" } };
  const containers = [{ name: "web", image: "nginx" }];
  await add(Namespace, { metadata: { name: namespace } });
  await add(ServiceAccount, { metadata: { namespace, name: "default" } });
  await add(ConfigMap, { metadata, data: { a: "b" } });
  await add(Pod, { metadata, spec: { containers } });
  await add(Service, { metadata, spec: { ports: [{ port: 80 }] } });
  await add(Node, { metadata: { name } });
  const template = { metadata: { labels: { app: "fuzz" } }, spec: { containers } };
  await add(Deployment, { metadata, spec: { selector: { matchLabels: { app: "fuzz" } }, template } });
}

/** The origin of the last error, for the report. */
let lastStack = "";
const rememberingLog: Log = {
  ...silentLog,
  error(_message, fields) {
    const error = fields?.error;
    lastStack = error instanceof Error ? (error.stack ?? "") : String(error);
  },
};

/** Removes accepted objects, so that only refused requests could fill the memory. */
async function tidyUp(cluster: TestCluster): Promise<void> {
  const { client, clock } = cluster;
  for (const resource of allResources) {
    if (!resource.verbs.includes("deletecollection")) continue;
    const { items } = await client.list(resource);
    for (const { metadata } of items) {
      const { name = "", namespace = "" } = metadata;
      if (name === "target" || !(namespace === "fuzz" || name.startsWith("sample-"))) continue;
      if (name === "default" && resource === (ServiceAccount as unknown)) continue;
      await client
        .patch(resource, { namespace, name }, { type: "merge", body: { metadata: { finalizers: null } } })
        .catch(() => {});
      await client.delete(resource, { namespace, name }, { gracePeriodSeconds: 0 }).catch(() => {});
    }
  }
  await clock.advance(120_000);
  await addTargets(cluster);
}

async function heapOf(cluster: TestCluster): Promise<number> {
  await tidyUp(cluster);
  for (let i = 0; i < 3; i++) {
    await new Promise((resolve) => setImmediate(resolve));
    collectGarbage();
  }
  return process.memoryUsage().heapUsed;
}

/** The answer; undefined if it does not arrive within a minute of virtual time. */
async function serve({ api, clock }: TestCluster, request: ApiRequest): Promise<Served | undefined> {
  let served: Served | undefined;
  const answered = api.server.serve(request).then((answer) => (served = answer));
  const soon = new Promise<void>((resolve) => setImmediate(resolve));
  await Promise.race([answered, soon]);
  for (let turn = 0; !served && turn < 600; turn++) await clock.advance(turn < 100 ? 0 : 120);
  // Long YAML is parsed and written in a thread that does not follow the virtual clock.
  if (!served) await Promise.race([answered, pause(60_000, undefined, { ref: false })]);
  return served;
}

async function ask(cluster: TestCluster, damaged: Damaged): Promise<{ code: number; fault?: string }> {
  const request: ApiRequest = { ...damaged, signal: neverAborted, peer: { address: "", user: admin } };
  const served = await serve(cluster, request);
  if (!served) return { code: 0, fault: "no answer" };
  const { wire } = served;
  if (wire.type === "watch") return watchFor(wire);
  if (wire.type === "upgrade") return { code: 101 };
  const { status: code } = wire;
  if (code < 400) return { code };
  if (wire.type !== "body") return { code, fault: `an error of type ${wire.type}` };
  const text = Buffer.concat(wire.chunks).toString();
  if (code >= 500 && !text.includes("Too large resource version"))
    return { code, fault: `${code}: ${text}\n${lastStack}` };
  // As upstream, pages outside of the API are missing like those of any other server.
  if (code === 404 && text === "404 page not found\n" && !/^\/api(\/|$)/.test(damaged.path)) return { code };
  return isStatus(wire.contentType, text) ? { code } : { code, fault: `${code} is not a Status: ${text}` };
}

/** A watch must answer with frames, or with one frame that holds the error. */
function watchFor(wire: Extract<Wire, { type: "watch" }>): { code: number; fault?: string } {
  let written = "";
  const writer = {
    write: (bytes: Uint8Array) => (written += Buffer.from(bytes).toString()),
    load: "idle" as const,
    onIdle: (wake: () => void) => wake(),
    end: () => {},
  };
  const stop = wire.start(writer);
  stop();
  return /"code":5\d\d/.test(written) ? { code: 500, fault: `watch: ${written}` } : { code: 200 };
}

function isStatus(contentType: string, text: string): boolean {
  if (contentType.startsWith("application/vnd.kubernetes.protobuf")) return text.startsWith("k8s\0");
  if (contentType.startsWith("application/yaml")) return text.includes("kind: Status");
  if (!contentType.startsWith("application/json")) return false;
  const status = JSON.parse(text) as { kind?: string; status?: string; message?: string };
  return status.kind === "Status" && status.status === "Failure" && Boolean(status.message);
}

const show = ({ method, path, query, headers, body }: Damaged): string =>
  `${method} ${path}?${query} ${JSON.stringify(headers)} ${body ? JSON.stringify(Buffer.from(body).toString()).slice(0, 1500) : ""}`;
