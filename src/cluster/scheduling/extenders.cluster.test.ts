import assert from "node:assert/strict";
import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { createServer, type ServerResponse } from "node:http";
import { type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import { Node } from "#api/core/node.ts";
import { Pod } from "#api/core/pod.ts";
import { systemClock } from "#lib/async/clock.ts";
import { silentLog } from "#lib/process/log.ts";
import { startCluster } from "#testing/start-cluster.ts";
import { loadScheduling } from "./load.ts";

type Asked = { readonly path: string; readonly body: Record<string, unknown> };

/** A cluster with three nodes whose scheduler asks an extender about pods with the resource example.com/gpu. */
async function start(serve: (asked: Asked, response: ServerResponse) => void, extender: object) {
  const server = createServer((request, response) => {
    let text = "";
    request.on("data", (chunk) => (text += String(chunk)));
    request.on("end", () => serve({ path: request.url ?? "", body: JSON.parse(text) as Asked["body"] }, response));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await using dir = await mkdtempDisposable(path.join(tmpdir(), "extender-"));
  const file = path.join(dir.path, "scheduler.json");
  const managedResources = [{ name: "example.com/gpu", ignoredByScheduler: true }];
  const configuration = {
    apiVersion: "kubescheduler.config.k8s.io/v1",
    kind: "KubeSchedulerConfiguration",
    extenders: [{ urlPrefix: `http://127.0.0.1:${port}/x`, nodeCacheCapable: true, managedResources, ...extender }],
  };
  await writeFile(file, JSON.stringify(configuration));
  const scheduling = await loadScheduling(file, { log: silentLog, clock: systemClock });
  const cluster = await startCluster({ nodes: 3, scheduler: scheduling.setup, clock: "system" });
  await cluster.until(async () => (await cluster.list(Node)).every(({ spec }) => !spec?.taints?.length));
  const create = (name: string, resources = {}) =>
    cluster.apply(Pod, {
      metadata: { name, namespace: "default" },
      spec: { containers: [{ name: "main", image: "web:1", resources }] },
    });
  const get = (name: string) => cluster.client.get(Pod, { namespace: "default", name });
  return {
    cluster,
    create,
    gpu: (name: string) => create(name, { limits: { "example.com/gpu": "1" } }),
    get,
    nodeOf: async (name: string) => (await get(name)).spec.nodeName,
    why: async (name: string) => (await get(name)).status.conditions?.find(({ type }) => type === "PodScheduled"),
    async [Symbol.asyncDispose]() {
      scheduling[Symbol.dispose]();
      server.closeAllConnections();
      server.close();
      await cluster[Symbol.asyncDispose]();
    },
  };
}

test("an extender chooses the node of the pods that concern it, and is not asked about others", async () => {
  const asked: string[] = [];
  await using world = await start(
    ({ path: url, body }, response) => {
      asked.push(url);
      const names = body.NodeNames as string[];
      if (url === "/x/filter")
        response.end(JSON.stringify({ NodeNames: names.slice(1), FailedNodes: { [names[0] ?? ""]: "no" } }));
      else response.end(JSON.stringify([{ Host: "node-3", Score: 10 }]));
    },
    { filterVerb: "filter", prioritizeVerb: "prioritize", weight: 5 },
  );

  await world.create("plain");
  await world.cluster.until(async () => (await world.nodeOf("plain")) !== undefined);
  assert.deepEqual(asked, []);
  await world.gpu("gpu");
  await world.cluster.until(async () => (await world.nodeOf("gpu")) !== undefined);

  assert.equal(await world.nodeOf("gpu"), "node-3");
  assert.deepEqual(asked, ["/x/filter", "/x/prioritize"]);
});

test("an extender that never answers, or nonsense, holds up only its own pods", async () => {
  const answers = ['{"NodeNames":["elsewhere"]}', "[[[", `{"Error":"${"x".repeat(5 << 20)}"}`];
  let silent: (() => void) | undefined;
  const isSilent = new Promise<void>((resolve) => (silent = resolve));
  await using world = await start(
    (_asked, response) => {
      const answer = answers.shift();
      if (answer === undefined) silent?.();
      else response.end(answer);
    },
    { filterVerb: "filter", httpTimeout: "30s" },
  );

  await world.gpu("gpu");
  const reasons = new Set<string>();
  await world.cluster.until(async () => {
    const condition = await world.why("gpu");
    if (condition?.reason === "SchedulerError") reasons.add(condition.message ?? "");
    return reasons.size === 3;
  });
  await isSilent;
  for (let n = 0; n < 20; n++) await world.create(`plain-${n}`);
  await world.cluster.until(async () =>
    (await world.cluster.list(Pod)).every(({ metadata, spec }) => metadata.name === "gpu" || spec.nodeName),
  );

  assert.equal(await world.nodeOf("gpu"), undefined);
  const told = [...reasons].map((reason) => reason.replace(/^extender "http:[^"]*": (the webhook \S+: )?/, ""));
  assert.deepEqual(told, [
    'claims a filtered node "elsewhere" which is not found in the input node list',
    "the answer is not JSON",
    "the answer is larger than 4194304 bytes",
  ]);
});

test("a pod is scheduled without an extender that may be ignored", async () => {
  await using world = await start((_asked, response) => response.writeHead(500).end(), {
    filterVerb: "filter",
    ignorable: true,
  });

  await world.gpu("gpu");

  await world.cluster.until(async () => (await world.nodeOf("gpu")) !== undefined);
});

test("an extender that binds does so in place of the scheduler", async () => {
  const bound: unknown[] = [];
  await using world = await start(
    ({ body }, response) => {
      bound.push(body);
      response.end(JSON.stringify({ Error: "not today" }));
    },
    { bindVerb: "bind" },
  );

  await world.gpu("gpu");
  await world.cluster.until(async () => (await world.why("gpu"))?.reason === "SchedulerError");

  const { metadata } = await world.get("gpu");
  assert.deepEqual(Object.keys(bound[0] as object), ["PodName", "PodNamespace", "PodUID", "Node"]);
  assert.equal((bound[0] as { PodUID?: string }).PodUID, metadata.uid);
  assert.match((await world.why("gpu"))?.message ?? "", /^running Bind plugin "Extender": not today$/);
});
