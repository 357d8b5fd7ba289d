import assert from "node:assert/strict";
import { test } from "node:test";
import { Deployment } from "#api/apps/deployment.ts";
import { ConfigMap } from "#api/core/config-map.ts";
import { Node } from "#api/core/node.ts";
import { Pod } from "#api/core/pod.ts";
import { Service } from "#api/core/service.ts";
import { runReconcilers } from "#runtime/run-reconciler.ts";
import { podRunner } from "#testing/pod-runner.ts";
import { startCluster } from "#testing/start-cluster.ts";
import { type TraceAnswer, type VerdictsAnswer } from "./answers.ts";
import { type Hop } from "./hop.ts";
import { milestonesOf } from "./milestones.ts";
import { buildTree, descendants, type HopNode } from "./tree.ts";

const labels = { app: "web" };
const place = { namespace: "default", name: "web" };
const resources = { cpu: "4", memory: "8Gi", pods: "10" };
const template = { metadata: { labels }, spec: { containers: [{ name: "web", image: "nginx" }] } };

async function startWithNode() {
  const cluster = await startCluster({
    components: (deps) => [(signal) => runReconcilers([podRunner()], deps, signal)],
  });
  await cluster.apply(Node, { metadata: { name: "n1" } });
  const status = {
    allocatable: resources,
    capacity: resources,
    conditions: [{ type: "Ready", status: "True" as const }],
  };
  await cluster.client.updateStatus(Node, { metadata: { name: "n1" }, status });
  await cluster.client.patch(Node, { name: "n1" }, { type: "merge", body: { spec: { taints: null } } });
  await cluster.settle();
  const read = async <T>(path: string): Promise<T> =>
    JSON.parse(Buffer.from((await cluster.client.raw("GET", path)).body).toString()) as T;
  return { ...cluster, read };
}

const nameOf = ({ hop, component, object, facts }: Hop): string =>
  hop === "client"
    ? `${String(facts?.verb)} ${object?.resource}${facts?.subresource ? `/${String(facts.subresource)}` : ""}`
    : `${hop} ${component}`;
/** The names of the hops from the root to this one. */
const pathTo = (roots: readonly HopNode[], is: (hop: Hop) => boolean): string[] => {
  for (const { hop, children } of roots) {
    if (is(hop)) return [nameOf(hop)];
    const below = pathTo(children, is);
    if (below.length > 0) return [nameOf(hop), ...below];
  }
  return [];
};

test("an apply is one tree, from the request to the endpoints of its pods", async () => {
  await using cluster = await startWithNode();
  await cluster.apply(Service, { metadata: place, spec: { selector: labels, ports: [{ port: 80 }] } });
  await cluster.settle();
  await cluster.apply(Deployment, {
    metadata: place,
    spec: { replicas: 3, selector: { matchLabels: labels }, template },
  });
  await cluster.settle();

  const { hops } = await cluster.read<TraceAnswer>("/orlop/trace/deployments.apps/default/web");

  const roots = buildTree(hops);
  assert.equal(roots.length, 1);
  const gates = roots[0]?.children.map(({ hop }) => hop.hop).slice(0, 8);
  assert.deepEqual(gates, ["authenticate", "authorize", "schema", "mutate", "schema", "admit", "persist", "broadcast"]);
  const pods = await cluster.list(Pod, "default");
  assert.equal(pods.length, 3);
  for (const { metadata } of pods) {
    const isBinding = ({ object, facts }: Hop) => object?.name === metadata.name && facts?.subresource === "binding";
    assert.deepEqual(pathTo(roots, isBinding), [
      "patch deployments.apps",
      "control deployment",
      "create replicasets.apps",
      "control replicaset",
      "create pods",
      "schedule scheduler",
      "create pods/binding",
    ]);
  }
  const slices = [...descendants(roots[0] as HopNode)].filter(
    ({ hop }) => hop.object?.resource === "endpointslices.discovery.k8s.io",
  );
  assert(slices.length > 0);
});

test("the kubelet's steps and the pod's readiness belong to the apply", async () => {
  await using cluster = await startCluster({ nodes: 2 });
  await cluster.apply(Deployment, {
    metadata: place,
    spec: { replicas: 4, selector: { matchLabels: labels }, template },
  });
  await cluster.settle();

  const { recorder } = cluster.api;
  const [traceId = ""] = recorder.tracesOf({ resource: "deployments.apps", ...place }).slice(-1);
  const hops = recorder.byTrace(traceId);

  const { pods, ready, placed, allReadyMs } = milestonesOf(hops);
  assert.deepEqual([pods.length, placed, ready], [4, 4, 4]);
  assert(allReadyMs !== undefined);
  assert.equal(buildTree(hops).length, 1);
  for (const pod of pods) {
    const steps = hops
      .filter(({ hop, object }) => hop === "run" && `default/${object?.name}` === pod)
      .map(({ facts }) => facts?.step);
    for (const step of ["sandbox", "image", "create", "start", "ready"])
      assert(steps.includes(step), `${pod} has no ${step}`);
  }
});

test("a watcher that asks for traces gets the trace of each event", async () => {
  await using cluster = await startCluster({ controllers: false });
  const watch = async (headers: Record<string, string>): Promise<string[]> => {
    const lines: string[] = [];
    const request = {
      method: "GET",
      path: "/api/v1/configmaps",
      query: "watch=true",
      body: undefined,
    };
    const peer = { address: "", user: { name: "admin", groups: ["system:masters"] } };
    const { wire } = await cluster.api.server.serve({
      ...request,
      headers,
      signal: new AbortController().signal,
      peer,
    });
    assert(wire.type === "watch");
    const stop = wire.start({
      write: (bytes) => lines.push(Buffer.from(bytes).toString()),
      load: "idle",
      onIdle: (wake) => wake(),
      end() {},
    });
    await cluster.apply(ConfigMap, { metadata: { namespace: "default", name: `map-${Object.keys(headers).length}` } });
    stop();
    return lines;
  };

  const [plain = ""] = (await watch({})).slice(-1);
  const [traced = ""] = (await watch({ "x-orlop-traces": "1" })).slice(-1);

  assert.equal(JSON.parse(plain).trace, undefined);
  assert.match(JSON.parse(traced).trace, /^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
});

test("a pod's trace is its owner's, and every written object carries its revision", async () => {
  await using cluster = await startWithNode();
  await cluster.apply(Deployment, {
    metadata: place,
    spec: { replicas: 1, selector: { matchLabels: labels }, template },
  });
  await cluster.settle();
  const [pod] = await cluster.list(Pod, "default");

  const owner = await cluster.read<TraceAnswer>("/orlop/trace/deployments.apps/default/web");
  const own = await cluster.read<TraceAnswer>(`/orlop/trace/pods/default/${pod?.metadata.name}`);

  assert.equal(own.traceId, owner.traceId);
  const writes = own.hops.filter(({ hop, facts }) => hop === "client" && Number(facts?.status) < 300);
  assert(writes.every(({ revision, object }) => revision > 0 && object?.name));
});

test("a refused request names the gate, and heartbeats leave no hops", async () => {
  await using cluster = await startWithNode();
  const spec = { replicas: -1, selector: { matchLabels: labels }, template };
  await cluster.apply(Deployment, { metadata: place, spec }).catch(() => {});

  const { hops, traces } = await cluster.read<TraceAnswer>("/orlop/trace/deployments.apps/default/web");

  assert.deepEqual([traces[0]?.status, hops[0]?.facts?.refusedAt], [422, "schema"]);
  assert(![...cluster.api.recorder.all()].some(({ object }) => object?.resource.startsWith("leases")));
});

test("the scheduler's verdicts can be requested", async () => {
  await using cluster = await startWithNode();
  const containers = [{ name: "web", image: "nginx", resources: { requests: { cpu: "40" } } }];
  const { metadata } = await cluster.apply(Pod, { metadata: place, spec: { containers } });
  await cluster.settle();

  const { attempts } = await cluster.read<VerdictsAnswer>(`/orlop/verdicts/default/web/${metadata.uid}`);

  assert.deepEqual(attempts.at(-1)?.rejections, [
    { node: "n1", plugin: "NodeResourcesFit", reasons: ["Insufficient cpu"] },
  ]);
  const stranger = cluster.clientFor({ name: "stranger", groups: ["system:authenticated"] });
  assert.equal(
    (await stranger.raw("GET", "/orlop/verdicts/default/web/x").catch(({ code }) => ({ status: code }))).status,
    403,
  );
});
