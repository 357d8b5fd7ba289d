/** The life of a Deployment, hop by hop: the walkthrough, executed on a simulated cluster. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { Deployment } from "#api/apps/deployment.ts";
import { ReplicaSet } from "#api/apps/replica-set.ts";
import { isReady } from "#api/core/pod/pod-state.ts";
import { Pod } from "#api/core/pod.ts";
import { Service } from "#api/core/service.ts";
import { EndpointSlice } from "#api/discovery/endpoint-slice.ts";
import { runProxy } from "#proxy/proxy.ts";
import { startCluster, type TestCluster } from "#testing/start-cluster.ts";
import { type Hop, hopNames, hopNumber } from "#trace/hop.ts";
import { buildTree, descendants, type HopNode } from "#trace/tree.ts";

const place = { namespace: "default", name: "web" };
const labels = { app: "web" };
const deployment = (replicas: number, image: string) => ({
  metadata: place,
  spec: {
    replicas,
    selector: { matchLabels: labels },
    template: { metadata: { labels }, spec: { containers: [{ name: "web", image, ports: [{ containerPort: 80 }] }] } },
  },
});
const service = { metadata: place, spec: { selector: labels, ports: [{ port: 80 }] } };
/** Three nodes, and a proxy that records its rules instead of sending them to a kernel. */
async function start(): Promise<{ cluster: TestCluster; rules: string[] }> {
  const rules: string[] = [];
  const host = {
    async run(_command: string, _args: readonly string[], input = ""): Promise<string> {
      if (input !== "") rules.push(input);
      return "";
    },
    readSetting: async () => "1",
    async writeSetting() {},
    async eachLine() {},
    addresses: async () => [],
  };
  const network = { clusterCidr: "10.128.0.0/9", serviceCidr: "10.96.0.0/12", podCidr: "10.128.0.0/24" };
  const cluster = await startCluster({
    nodes: 3,
    components: (deps) => [
      (stop) => runProxy({ ...deps, ...network, nodeName: "node-1", tableName: "web", host, healthAddress: "" }, stop),
    ],
  });
  await cluster.apply(Service, service);
  await cluster.settle();
  return { cluster, rules };
}

/** The hops that followed from the newest request for the deployment. */
function treeOf(cluster: TestCluster): HopNode {
  const { recorder } = cluster.api;
  const requests = recorder
    .byObject({ resource: "deployments.apps", ...place })
    .filter(({ hop, parentId }) => hop === "client" && parentId === "");
  const [tree, ...others] = buildTree(recorder.byTrace(requests.at(-1)?.traceId ?? ""));
  assert(tree);
  assert.deepEqual(others, []);
  return tree;
}

const nameOf = ({ hop, component, object, facts }: Hop): string => {
  if (hop === "client") return `${String(facts?.verb)} ${object?.resource}`;
  if (hop === "run") return `run: ${String(facts?.step)}`;
  return `${hop}: ${component}`;
};

/** The hops from the root to the first matching one. */
function wayTo(node: HopNode, is: (hop: Hop) => boolean): Hop[] | undefined {
  if (is(node.hop)) return [node.hop];
  for (const child of node.children) {
    const way = wayTo(child, is);
    if (way) return [node.hop, ...way];
  }
  return undefined;
}

test("an apply takes all twelve hops, in their order", async () => {
  const { cluster, rules } = await start();
  await using running = cluster;
  await running.apply(Deployment, deployment(3, "web:1"));
  await running.settle();

  const tree = treeOf(running);

  // 1 to 8: one request, through all checks.
  assert.equal(nameOf(tree.hop), "patch deployments.apps");
  const gates = tree.children.map(({ hop }) => hop.hop).filter((hop) => hopNumber(hop) <= 8);
  // The schema is checked twice: when the object is decoded, and when it is complete.
  assert.deepEqual(gates.toSpliced(2, 1), hopNames.slice(1, 8));

  // 9 and 10: two controllers create pods, and the scheduler gives each a node.
  const pods = await running.list(Pod, place.namespace);
  assert.equal(pods.length, 3);
  for (const { metadata, spec } of pods) {
    const way = wayTo(tree, ({ hop, object }) => hop === "schedule" && object?.name === metadata.name) ?? [];
    assert.deepEqual(way.map(nameOf), [
      "patch deployments.apps",
      "control: deployment",
      "create replicasets.apps",
      "control: replicaset",
      "create pods",
      "schedule: scheduler",
    ]);
    assert.equal(way.at(-1)?.facts?.node, spec.nodeName);
    const revisions = way.filter(({ hop }) => hop === "client").map(({ revision }) => revision);
    assert.deepEqual(
      revisions,
      revisions.toSorted((a, b) => a - b),
    );
  }

  // 11: the kubelet runs each pod, step by step, and reports it.
  for (const pod of pods) {
    const steps = [...descendants(tree)]
      .map(({ hop }) => hop)
      .filter(({ hop, object }) => hop === "run" && object?.name === pod.metadata.name);
    const order = ["sandbox", "create", "start", "ready"];
    const seen = steps.map(({ facts }) => String(facts?.step)).filter((step) => order.includes(step));
    assert.deepEqual(new Set(seen), new Set(order));
    assert(steps.every(({ component }) => component === `kubelet ${pod.spec.nodeName}`));
    const ends = order.map((step) => Math.min(...timesOf(steps, step)));
    assert.deepEqual(
      ends,
      ends.toSorted((a, b) => a - b),
    );
    assert(isReady(pod));
  }

  // 12: its address becomes an endpoint, and the proxy routes the service to it.
  const serve = wayTo(tree, ({ hop }) => hop === "serve") ?? [];
  assert.equal(serve.at(-1)?.object?.name, "web");
  assert(serve.some((hop) => nameOf(hop).endsWith("endpointslices.discovery.k8s.io")));
  const [slice] = await running.list(EndpointSlice, place.namespace).then((all) => all.filter(ofService));
  const addresses = slice?.endpoints?.flatMap(({ addresses }) => addresses).sort();
  assert.deepEqual(addresses, pods.map(({ status }) => status.podIP).sort());
  for (const { status } of pods) assert(rules.some((text) => text.includes(status.podIP ?? "no address")));
  const reached = new Set([...descendants(tree)].map(({ hop }) => hop.hop));
  assert.deepEqual(
    hopNames.filter((hop) => !reached.has(hop)),
    [],
  );
});

const timesOf = (steps: readonly Hop[], step: string): number[] =>
  steps.filter(({ facts }) => facts?.step === step).map(({ startMs, durationMs }) => startMs + durationMs);
const ofService = ({ metadata }: EndpointSlice): boolean =>
  metadata.labels?.["kubernetes.io/service-name"] === place.name;

test("a deployment grows, changes, heals and is deleted, and each trace shows the cause", async () => {
  const { cluster } = await start();
  await using running = cluster;
  const ready = async () => (await running.list(Pod, place.namespace)).filter(isReady);
  await running.apply(Deployment, deployment(2, "web:1"));
  await running.settle();
  const first = treeOf(running).hop.traceId;

  await running.apply(Deployment, deployment(5, "web:1"));
  await running.settle();
  const grown = treeOf(running);
  const before = await ready();
  assert.notEqual(grown.hop.traceId, first);
  assert.equal(before.length, 5);
  assert.equal(createdIn(grown).length, 3);

  // A second ReplicaSet takes over, and never fewer than four pods are ready.
  let fewest = 5;
  const stop = running.informers.of(Pod).subscribe(() => {
    const count = running.informers
      .of(Pod)
      .list(place.namespace)
      .filter((pod) => isReady(pod) && !pod.metadata.deletionTimestamp).length;
    fewest = Math.min(fewest, count);
  });
  await running.apply(Deployment, deployment(5, "web:2"));
  await running.settle();
  stop();
  const after = await ready();
  assert.deepEqual(new Set(after.map(({ spec }) => spec.containers[0]?.image)), new Set(["web:2"]));
  assert(fewest >= 4, `${fewest} ready pods`);
  assert.equal(createdIn(treeOf(running)).length, 5);
  const sets = await running.list(ReplicaSet, place.namespace);
  assert.deepEqual(sets.map(({ spec }) => spec.replicas).sort(), [0, 5]);

  // A deleted pod is replaced.
  const [victim] = after;
  assert(victim);
  await running.client.delete(Pod, victim);
  await running.settle();
  const healed = await ready();
  assert.equal(healed.length, 5);
  assert(!healed.some(({ metadata }) => metadata.uid === victim.metadata.uid));

  // Everything that the deployment owned is deleted with it, down to the last container.
  await running.client.delete(Deployment, place);
  await running.settle();
  assert.deepEqual(await running.list(ReplicaSet), []);
  assert.deepEqual(await running.list(Pod), []);
  const [slice] = (await running.list(EndpointSlice, place.namespace)).filter(ofService);
  assert.deepEqual(slice?.endpoints ?? [], []);
  for (const { runtime } of running.nodes) assert.deepEqual(await runtime.listContainers(), []);
});

/** The pods that were created in the trace. */
const createdIn = (tree: HopNode): Hop[] =>
  [...descendants(tree)]
    .map(({ hop }) => hop)
    .filter((hop) => nameOf(hop) === "create pods" && !hop.facts?.subresource);
