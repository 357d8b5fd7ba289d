import assert from "node:assert/strict";
import { test } from "node:test";
import { Lease } from "#api/coordination/lease.ts";
import { ConfigMap } from "#api/core/config-map.ts";
import { Node } from "#api/core/node.ts";
import { Pod } from "#api/core/pod.ts";
import { isConditionTrue } from "#api/meta/condition.ts";
import { isNotFound } from "#api/status.ts";
import { startCluster } from "#testing/start-cluster.ts";

const podStages = `
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: { name: begin }
spec:
  resourceRef: { apiGroup: v1, kind: Pod }
  selector:
    matchExpressions:
      - { key: .metadata.deletionTimestamp, operator: DoesNotExist }
      - { key: .status.podIP, operator: DoesNotExist }
  delay: { durationMilliseconds: 2000, durationFrom: { expressionFrom: '.metadata.annotations["delay"]' } }
  next:
    event: { type: Normal, reason: Begun, message: it begins }
    finalizers: { add: [{ value: example.com/kept }] }
    statusTemplate: |
      {{ $now := Now }}
      phase: Running
      hostIP: {{ NodeIPWith .spec.nodeName | Quote }}
      podIP: {{ PodIPWith .spec.nodeName (or .spec.hostNetwork false) .metadata.uid .metadata.name .metadata.namespace | Quote }}
      startTime: {{ $now | Quote }}
      conditions:
        - { type: Ready, status: "True", lastTransitionTime: {{ $now | Quote }} }
      containerStatuses:
      {{ range .spec.containers }}
        - name: {{ .name | Quote }}
          image: {{ .image | Quote }}
          ready: true
          restartCount: 0
          state: { running: { startedAt: {{ $now | Quote }} } }
      {{ end }}
---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: { name: end }
spec:
  resourceRef: { kind: Pod }
  selector:
    matchExpressions:
      - { key: .metadata.deletionTimestamp, operator: Exists }
      - cel: { expression: "has(self.metadata.finalizers)" }
  steps:
    - finalizers: { remove: [{ value: example.com/kept }] }
    - delete: true
`;

const nodeStages = `
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: { name: node-ready }
spec:
  resourceRef: { apiGroup: v1, kind: Node }
  selector:
    matchExpressions:
      - { key: '.status.conditions.[] | select(.type == "Ready") | .status', operator: NotIn, values: ["True"] }
  next:
    statusTemplate: |
      conditions:
      {{ range NodeConditions }}
        - type: {{ .type | Quote }}
          status: {{ .status | Quote }}
          reason: {{ .reason | Quote }}
          message: {{ .message | Quote }}
          lastHeartbeatTime: {{ Now | Quote }}
          lastTransitionTime: {{ Now | Quote }}
      {{ end }}
      addresses:
        - { type: InternalIP, address: {{ NodeIP | Quote }} }
        - { type: Hostname, address: {{ NodeName | Quote }} }
      capacity: {{ with .status.capacity }}{{ YAML . 1 }}{{ else }}{ cpu: "4", memory: 8Gi, pods: "20" }{{ end }}
      allocatable: {{ with .status.allocatable }}{{ YAML . 1 }}{{ else }}{ cpu: "4", memory: 8Gi, pods: "20" }{{ end }}
`;

const newPod = (name: string, annotations: Record<string, string> = {}) => ({
  metadata: { namespace: "default", name, annotations },
  spec: { containers: [{ name: "web", image: "web:1" }] },
});

test("stages lead a pod from its begin to its end, in their times", async () => {
  await using cluster = await startCluster({ nodes: 1, simulation: { stages: podStages } });
  await cluster.client.create(Pod, newPod("a"));
  await cluster.client.create(Pod, newPod("b", { delay: "3m" }));
  await cluster.until(async () => (await cluster.client.get(Pod, newPod("a"))).spec.nodeName === "node-1");
  const begun = cluster.clock.now();

  await cluster.until(async () => (await cluster.client.get(Pod, newPod("a"))).status.phase === "Running");

  const pod = await cluster.client.get(Pod, newPod("a"));
  assert.equal(Math.round((cluster.clock.now() - begun) / 1000), 2);
  assert.match(pod.status.podIP ?? "", /^10\.128\.0\.\d+$/);
  assert.equal(pod.status.hostIP, "172.16.0.1");
  assert.deepEqual(pod.metadata.finalizers, ["example.com/kept"]);
  assert(isConditionTrue(pod.status.conditions, "Ready"));
  assert((await cluster.events("pod/a")).some(({ reason }) => reason === "Begun"));
  assert.equal((await cluster.client.get(Pod, newPod("b"))).status.phase, "Pending");
  await cluster.clock.advance(180_000);
  const other = await cluster.client.get(Pod, newPod("b"));
  assert.equal(other.status.phase, "Running");
  assert.notEqual(other.status.podIP, pod.status.podIP);

  await cluster.client.delete(Pod, newPod("a"));
  await cluster.settle();
  await assert.rejects(cluster.client.get(Pod, newPod("a")), isNotFound);
});

test("stages lead simulated nodes and nodes that users make up, and stop with their node", async () => {
  await using cluster = await startCluster({
    nodes: 2,
    simulation: { stages: [nodeStages, podStages], zones: ["a", "b"] },
  });
  const fake = { metadata: { name: "made-up", annotations: { "kwok.x-k8s.io/node": "fake" } } };
  await cluster.client.create(Node, fake);
  await cluster.settle();

  const nodes = await cluster.list(Node);
  assert.deepEqual(
    nodes.map(({ metadata }) => metadata.name),
    ["made-up", "node-1", "node-2"],
  );
  for (const { status, metadata } of nodes) assert(isConditionTrue(status.conditions, "Ready"), metadata.name);
  assert.equal(
    (await cluster.client.get(Lease, { namespace: "kube-node-lease", name: "made-up" })).spec?.holderIdentity,
    "made-up",
  );
  await cluster.clock.advance(120_000);
  for (const { status, metadata } of await cluster.list(Node))
    assert(isConditionTrue(status.conditions, "Ready"), metadata.name);

  const bringBack = await cluster.fail({ node: "node-2" });
  await cluster.clock.advance(120_000);
  const failed = await cluster.client.get(Node, { name: "node-2" });
  assert(!isConditionTrue(failed.status.conditions, "Ready"), "a stopped node is not led");
  bringBack();
  await cluster.clock.advance(60_000);
  assert(isConditionTrue((await cluster.client.get(Node, { name: "node-2" })).status.conditions, "Ready"));
  await cluster.client.create(Pod, { ...newPod("there"), spec: { ...newPod("there").spec, nodeName: "made-up" } });
  await cluster.settle();
  assert.equal((await cluster.client.get(Pod, newPod("there"))).status.phase, "Running");
});

const custom = (steps: string): string => `
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: { name: widgets }
spec:
  resourceRef: { apiGroup: example.com/v1, kind: Widget }
  selector: { matchLabels: { stage: "yes" }, matchExpressions: [{ key: .status.phase, operator: DoesNotExist }] }
  delay: { durationMilliseconds: 1000, jitterDurationMilliseconds: 9000 }
  steps:
${steps}`;

const definition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: widgets.example.com }
spec:
  group: example.com
  scope: Namespaced
  names: { plural: widgets, singular: widget, kind: Widget }
  versions:
    - name: v1
      served: true
      storage: true
      subresources: { status: {} }
      schema: { openAPIV3Schema: { type: object, x-kubernetes-preserve-unknown-fields: true } }
`;
const widget = (name: string, more = ""): string => `
apiVersion: example.com/v1
kind: Widget
metadata: { name: ${name}, labels: { stage: "yes" } }
spec: { size: 3${more} }
`;

test("stages lead objects of custom kinds, which may come later, and apply others", async () => {
  const stages = custom(`
    - patch: { root: status, subresource: status, template: "phase: Done\\nsize: {{ .spec.size }}" }
    - patch: { type: json, root: metadata, template: '[{ op: add, path: /annotations, value: { seen: "{{ .metadata.name }}" } }]' }
    - apply: { template: "apiVersion: v1\\nkind: ConfigMap\\nmetadata: { name: {{ .metadata.name | Quote }} }\\ndata: { kind: {{ .kind }} }" }
    - event: { type: Warning, reason: Done, message: done }`);
  await using cluster = await startCluster({ simulation: { stages } });
  await cluster.applyYaml(definition);
  await cluster.applyYaml(widget("one"));
  await cluster.settle();

  const { body } = await cluster.client.raw("GET", "/apis/example.com/v1/namespaces/default/widgets/one");
  const { status, metadata } = JSON.parse(Buffer.from(body).toString()) as Record<string, Record<string, unknown>>;
  assert.deepEqual(status, { phase: "Done", size: 3 });
  assert.deepEqual(metadata?.annotations, { seen: "one" });
  const applied = await cluster.client.get(ConfigMap, { namespace: "default", name: "one" });
  assert.deepEqual(applied.data, { kind: "Widget" });
});

test("an object for which a stage does not work gets an event, and others go on", async () => {
  const stages = custom(`
    - patch: { root: status, subresource: status, template: "phase: {{ if .spec.bad }}{{ fail \\"no phase\\" }}{{ end }}Done" }`);
  await using cluster = await startCluster({ simulation: { stages } });
  await cluster.applyYaml(definition);
  await cluster.applyYaml(widget("bad", ", bad: true"));
  await cluster.applyYaml(widget("good"));
  await cluster.settle();

  const events = await cluster.events();
  const [failed] = events.filter(({ reason }) => reason === "FailedStage");
  assert.equal(failed?.involvedObject.name, "bad");
  assert.match(failed?.message ?? "", /^stage widgets: line 1, column \d+: no phase$/);
  const { body } = await cluster.client.raw("GET", "/apis/example.com/v1/namespaces/default/widgets/good");
  assert.match(Buffer.from(body).toString(), /"phase":"Done"/);
});

test("the same seed gives the same course", async () => {
  const course = async (): Promise<string> => {
    const delay = "durationMilliseconds: 1000, jitterDurationMilliseconds: 60000";
    const stages = podStages.replace("durationMilliseconds: 2000", delay);
    await using cluster = await startCluster({ nodes: 1, seed: 3, simulation: { stages } });
    for (const name of ["a", "b", "c"]) await cluster.client.create(Pod, newPod(name));
    await cluster.until(async () => (await cluster.list(Pod)).every(({ status }) => status.startTime !== undefined));
    return (await cluster.list(Pod)).map(({ status }) => status.startTime).join(" ");
  };
  assert.equal(await course(), await course());
});

test("what describes pods is refused beside stages for pods", async () => {
  const simulation = { stages: podStages, delays: { startMs: 5 } };
  await assert.rejects(
    startCluster({ nodes: 1, simulation }),
    /delays has no effect, because there are stages for pods/,
  );
  await assert.rejects(
    startCluster({ simulation: { stages: "kind: Pod" } }),
    /document 1.apiVersion must be one of kwok/,
  );
});
