import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigMap } from "#api/core/config-map.ts";
import { Namespace } from "#api/core/namespace.ts";
import { Node } from "#api/core/node.ts";
import { Pod } from "#api/core/pod.ts";
import { type InputOf, type Resource } from "#api/resource.ts";
import { timestamp } from "#lib/async/clock.ts";
import { build } from "#testing/build.ts";
import { explain } from "./explain.ts";
import { ago, event, nowMs, podOf } from "./facts.suite.ts";
import { type Facts, type PodFacts } from "./facts.ts";
import { planRooms } from "./rooms.ts";

const node = build(Node, {
  metadata: { name: "n1" },
  status: {
    allocatable: { cpu: "4", memory: "24581700Ki", pods: "10" },
    conditions: [{ type: "Ready", status: "True", lastTransitionTime: ago(500) }],
  },
});
const of = (pod: Pod, parts: Partial<PodFacts> = {}): Facts => ({
  about: "pod",
  nowMs,
  pod,
  node: pod.spec.nodeName ? node : undefined,
  heartbeatMs: nowMs - 3000,
  events: [],
  rooms: [],
  attempts: [],
  missing: [],
  logs: new Map(),
  services: [],
  ...parts,
});
const refused = (plugin: string, reason: string, rooms: PodFacts["rooms"]): Partial<PodFacts> => ({
  attempts: [
    {
      atMs: nowMs,
      attempt: 1,
      node: "",
      evaluated: 1,
      message: "",
      rejections: [{ node: "n1", plugin, reasons: [reason] }],
    },
  ],
  rooms,
});
const status = (state: object, more: object = {}): InputOf<Pod["status"]> => ({
  phase: "Running",
  startTime: ago(50),
  containerStatuses: [{ name: "c", image: "", imageID: "", ready: false, restartCount: 0, state, ...more }],
});
const running = { running: { startedAt: ago(4) } };
const term = { matchExpressions: [{ key: "zone", operator: "In", values: ["a", "b"] }] };
const affinity = { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [term] } } };
const port = (name: string, spec: object = {}): Pod =>
  podOf(
    { containers: [{ name: "c", image: "i", ports: [{ containerPort: 80, hostPort: 8080 }] }], ...spec },
    {},
    { name },
  );
const absent = {
  about: "absent",
  nowMs,
  namespace: "default",
  name: "x",
  refusal: undefined,
  removal: undefined,
} as const;
const ended = build(Namespace, {
  metadata: { name: "old", deletionTimestamp: ago(9) },
  status: {
    conditions: [
      {
        type: "NamespaceContentRemaining",
        status: "True",
        message: "Some resources are remaining: configmaps. has 2 resource instances",
      },
      {
        type: "NamespaceFinalizersRemaining",
        status: "True",
        message: "Some content in the namespace has finalizers remaining: a/b in 2 resource instances",
      },
    ],
  },
});

const cases: readonly { name: string; facts: Facts; says: RegExp; evidence?: RegExp; advice?: RegExp }[] = [
  {
    name: "memory in readable units",
    facts: of(
      podOf({ containers: [{ name: "c", image: "i", resources: { requests: { memory: "900Gi" } } }] }, {}),
      refused("NodeResourcesFit", "Insufficient memory", planRooms([node], [])),
    ),
    says: /at most 23\.4Gi is free \(on n1\)/,
    evidence: /free 23\.4Gi of 23\.4Gi memory/,
    advice: /the largest has 23\.4Gi memory/,
  },
  {
    name: "which pod uses the host port",
    facts: of(
      port("web"),
      refused("NodePorts", "no free ports", planRooms([node], [port("first", { nodeName: "n1" })])),
    ),
    says: /host port already in use/,
    evidence: /8080\/TCP is used by pod first/,
  },
  {
    name: "which labels the affinity requires",
    facts: of(
      podOf({ affinity }, {}),
      refused("NodeAffinity", "didn't match Pod's node affinity/selector", planRooms([node], [])),
    ),
    says: /node selector or affinity/,
    evidence: /wants zone In a, b/,
  },
  {
    name: "a pull secret that does not exist",
    facts: of(podOf({ nodeName: "n1" }, status({ waiting: { reason: "ErrImagePull", message: "401 unauthorized" } })), {
      events: [
        event("FailedToRetrieveImagePullSecret", "Unable to retrieve some image pull secrets (login); attempting"),
      ],
    }),
    says: /does not allow the node to pull/,
    evidence: /there is no secret login/,
    advice: /names the secret login, which does not exist/,
  },
  {
    name: "a probe that fails without a message",
    facts: of(
      podOf(
        { nodeName: "n1", containers: [{ name: "c", image: "i", startupProbe: { exec: { command: ["false"] } } }] },
        status(running),
      ),
      { events: [event("Unhealthy", "Startup probe failed: ")] },
    ),
    says: /its startup probe fails without a message\.$/,
  },
  {
    name: "a container that runs between two failures",
    facts: of(
      podOf(
        { nodeName: "n1" },
        {
          ...status(running, {
            restartCount: 3,
            lastState: { terminated: { exitCode: 7, startedAt: ago(9), finishedAt: ago(5) } },
          }),
          conditions: [{ type: "Ready", status: "True" }],
        },
      ),
      { logs: new Map([["c", ["out of ideas"]]]) },
    ),
    says: /is ready now, but container c was restarted 3 times: it exits with code 7\.$/,
    evidence: /exited 5s ago with code 7.*\n.*last log lines:\n.*out of ideas/,
  },
  {
    name: "a runtime class that no node has",
    facts: of(podOf({ nodeName: "n1" }, status({ waiting: { reason: "ContainerCreating" } })), {
      events: [event("FailedCreatePodSandBox", 'Failed: RuntimeClass "kata" is not known to this node')],
    }),
    says: /its RuntimeClass kata is unknown/,
    advice: /spec\.runtimeClassName kata/,
  },
  {
    name: "a deadline",
    facts: of(podOf({ nodeName: "n1", activeDeadlineSeconds: 2 }, { phase: "Failed", reason: "DeadlineExceeded" })),
    says: /ran longer than activeDeadlineSeconds/,
    evidence: /spec\.activeDeadlineSeconds: 2/,
  },
  {
    name: "a slow preStop hook",
    facts: of(
      podOf(
        {
          nodeName: "n1",
          containers: [{ name: "c", image: "i", lifecycle: { preStop: { exec: { command: ["sleep", "9"] } } } }],
        },
        status(running),
        { deletionTimestamp: timestamp(nowMs + 20_000), deletionGracePeriodSeconds: 30 },
      ),
    ),
    says: /is terminating/,
    evidence: /container c has a preStop hook/,
    advice: /make the hook shorter/,
  },
  {
    name: "what keeps a namespace",
    facts: { about: "object", nowMs, resource: Namespace as Resource, object: ended },
    says: /it still contains objects: 2 configmaps, held by the finalizer a\/b\.$/,
    advice: /kubectl get configmaps -n old.*orlop why configmaps\/NAME -n old/,
  },
  {
    name: "the servers whose silence keeps a namespace",
    facts: {
      about: "object",
      nowMs,
      resource: Namespace as Resource,
      object: build(Namespace, {
        metadata: { name: "old", deletionTimestamp: ago(9) },
        status: {
          conditions: [
            {
              type: "NamespaceDeletionDiscoveryFailure",
              status: "True",
              message:
                "Discovery failed for some groups, 1 failing: unable to retrieve the complete list of server APIs: metrics.k8s.io/v1beta1: stale GroupVersion discovery: metrics.k8s.io/v1beta1",
            },
          ],
        },
      }),
    },
    says: /because the server behind the APIService v1beta1\.metrics\.k8s\.io does not answer/,
    advice:
      /`orlop why apiservice\/v1beta1\.metrics\.k8s\.io`.*\n.*`kubectl delete apiservice v1beta1\.metrics\.k8s\.io`/,
  },
  {
    name: "a key that is missing",
    facts: {
      about: "unreadable",
      resource: ConfigMap as Resource,
      name: "a",
      message: 'Internal error occurred: unable to transform key "/registry/configmaps/default/a": no matching key',
    },
    says: /^ConfigMap a exists, but the API server cannot decrypt what is stored: unable to transform key ".*": no/,
    advice: /^Put the key .* --encryption-provider-config/,
  },
  {
    name: "what keeps a definition",
    facts: {
      about: "object",
      nowMs,
      resource: { ...ConfigMap, kind: "CustomResourceDefinition" } as Resource,
      object: build(ConfigMap, {
        metadata: {
          ...{ name: "crates.a.b", deletionTimestamp: ago(9) },
          finalizers: ["customresourcecleanup.apiextensions.k8s.io"],
        },
      }),
    },
    says: /crates\.a\.b cannot be removed because 1 finalizer holds it/,
    advice: /`kubectl get crates\.a\.b -A`.*`orlop why crates\.a\.b\/OBJECT -n NAMESPACE`/,
  },
  {
    name: "who deleted it",
    facts: { ...absent, resource: Pod as Resource, removal: { atMs: nowMs - 3000, user: "ann" } },
    says: /There is no Pod x in namespace default any more: ann deleted it 3s ago\.$/,
  },
  {
    name: "a webhook that could not be asked",
    facts: {
      ...absent,
      resource: Pod as Resource,
      refusal: {
        ...{ atMs: nowMs, verb: "create", user: "ann", status: 500, hop: "mutate" },
        message: 'Internal error occurred: failed calling webhook "a.b.c": failed to call webhook: connection refused',
        cause: { by: "webhook a.b.c", of: "guard", expression: "", values: [] },
      },
    },
    says: /refused it: Internal error occurred: failed calling webhook/,
    evidence: /webhook a\.b\.c \(guard\) gave no answer that can be used, and its failurePolicy is Fail$/,
    advice: /^Start the webhook's server.*`kubectl delete mutatingwebhookconfiguration guard`\.$/,
  },
  {
    name: "a custom resource that nothing is known about",
    facts: {
      about: "object",
      nowMs,
      resource: { ...ConfigMap, kind: "Crate", plural: "crates", isJsonOnly: true } as Resource,
      object: build(ConfigMap, { metadata: { name: "a", namespace: "default" } }),
    },
    says: /^Crate a exists/,
    advice: /`orlop trace crates\/a -n default`\.\n.*its operator/,
  },
  {
    name: "the newest event of a custom resource",
    facts: {
      about: "object",
      nowMs,
      resource: { ...ConfigMap, kind: "Crate", plural: "crates", isJsonOnly: true } as Resource,
      object: build(ConfigMap, { metadata: { name: "a", namespace: "default" } }),
      events: [event("Synced", "fine", { type: "Normal" }), event("Taken", "the name is taken", { count: 8 })],
    },
    says: /^Crate a has a warning as its newest event: the name is taken$/,
    evidence: /^event Synced 5s ago: fine\nevent Taken 5s ago, 8 times: the name is taken$/,
    advice: /correct what it names/,
  },
  {
    name: "a custom resource whose last warning is over",
    facts: {
      about: "object",
      nowMs,
      resource: { ...ConfigMap, kind: "Crate", plural: "crates", isJsonOnly: true } as Resource,
      object: build(ConfigMap, { metadata: { name: "a", namespace: "default" } }),
      events: [event("Taken", "the name is taken"), event("Synced", "fine", { type: "Normal" })],
    },
    says: /^Crate a exists/,
    evidence: /event Synced 5s ago: fine$/,
  },
  {
    name: "a wrong name",
    facts: { ...absent, resource: Node as Resource },
    says: /no Node x, and/,
    advice: /^Check the name\.$/,
  },
];
for (const { name, facts, says, evidence, advice } of cases) {
  test(`explain() names ${name}`, () => {
    const explanation = explain(facts);

    assert.match(explanation.headline, says);
    if (evidence) assert.match(explanation.evidence.join("\n"), evidence);
    if (advice) assert.match(explanation.advice.join("\n"), advice);
  });
}
