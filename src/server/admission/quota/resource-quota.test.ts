import assert from "node:assert/strict";
import { test } from "node:test";
import { Deployment } from "#api/apps/deployment.ts";
import { Lease } from "#api/coordination/lease.ts";
import { ConfigMap } from "#api/core/config-map.ts";
import { PersistentVolumeClaim } from "#api/core/persistent-volume/persistent-volume-claim.ts";
import { Pod } from "#api/core/pod.ts";
import { ResourceQuota } from "#api/core/resource-quota.ts";
import { Service } from "#api/core/service.ts";
import { type ApiObject, type InputOf, type Resource } from "#api/resource.ts";
import { PriorityClass } from "#api/scheduling/priority-class.ts";
import { StorageClass } from "#api/storage/storage-class.ts";
import { cloneJson } from "#lib/text/json.ts";
import { decode } from "#schema/json/decode.ts";
import { requestFor, setUp } from "../admission.suite.ts";
import { type AdmissionRequest } from "../plugin.ts";

type Amounts = Record<string, string>;
type Spec = NonNullable<InputOf<ResourceQuota>["spec"]>;

/** A namespace with quotas, each with its limits, what is used, and its scopes. */
function limited(quotas: Record<string, { hard: Amounts; used?: Amounts } & Pick<Spec, "scopes" | "scopeSelector">>) {
  const set = setUp();
  for (const [name, { hard, used, ...spec }] of Object.entries(quotas)) {
    const metadata = { name, namespace: "shop" };
    set.informers.put(ResourceQuota, {
      metadata,
      spec: { hard, ...spec },
      status: { hard, ...(used ? { used } : {}) },
    });
  }
  const usedOf = (name: string) => set.informers.of(ResourceQuota).get({ namespace: "shop", name })?.status.used;
  return { ...set, usedOf };
}

const full = <T extends ApiObject>(resource: Resource<T>, input: InputOf<T>): T =>
  decode(resource.schema, cloneJson({ metadata: { namespace: "shop", name: "x" }, ...input }), { defaults: true })
    .value as T;

type PodSpec = NonNullable<InputOf<Pod>["spec"]>;
type Resources = NonNullable<NonNullable<PodSpec["containers"]>[number]["resources"]>;
const pod = (resources: Resources = {}, spec: PodSpec = {}): Pod =>
  full(Pod, { spec: { containers: [{ name: "c", image: "i", resources }], ...spec } });

const send = <T extends ApiObject>(
  { admit }: Pick<ReturnType<typeof limited>, "admit">,
  resource: Resource<T>,
  object: T,
  part: Partial<AdmissionRequest> = {},
) => admit(requestFor(resource, object as InputOf<T>, part));

test("a create is charged to the quota, with its amounts", async () => {
  const set = limited({
    q: { hard: { pods: "2", memory: "1Gi", secrets: "1" }, used: { pods: "0", memory: "0", secrets: "0" } },
  });
  await send(set, Pod, pod({ requests: { memory: "512Mi" } }));
  assert.deepEqual(set.usedOf("q"), { pods: "1", memory: "512Mi", secrets: "0" });
});

test("what would exceed the quota is refused with all limits that it exceeds", async () => {
  const used = { pods: "1", "requests.cpu": "1500m", memory: "600Mi" };
  const set = limited({ q: { hard: { pods: "1", "requests.cpu": "2", memory: "2Gi" }, used } });
  await assert.rejects(send(set, Pod, pod({ requests: { cpu: "1", memory: "1Mi" } })), {
    reason: "Forbidden",
    message:
      'pods "x" is forbidden: exceeded quota: q, requested: pods=1,requests.cpu=1, used: pods=1,requests.cpu=1500m, limited: pods=1,requests.cpu=2',
  });
  assert.deepEqual(set.usedOf("q"), used);
});

test("quotas of CPU and memory demand that every container says what it needs", async () => {
  const used = { cpu: "0", "limits.memory": "0", "requests.ephemeral-storage": "0" };
  const set = limited({ q: { hard: { cpu: "1", "limits.memory": "1Gi", "requests.ephemeral-storage": "1Gi" }, used } });
  const init = { initContainers: [{ name: "a", image: "i", resources: { requests: { cpu: "1m" } } }] };
  await assert.rejects(send(set, Pod, pod({}, init)), {
    message: 'pods "x" is forbidden: failed quota: q: must specify cpu for: c; limits.memory for: a,c',
  });
  await send(set, Pod, pod({}, { ...init, resources: { requests: { cpu: "1m" }, limits: { memory: "1Mi" } } }));
  assert.deepEqual(set.usedOf("q"), { cpu: "1m", "limits.memory": "1Mi", "requests.ephemeral-storage": "0" });
});

test("a quota that does not know yet what is used refuses", async () => {
  const set = limited({ q: { hard: { pods: "1", services: "1" }, used: { services: "0" } } });
  await assert.rejects(send(set, Pod, pod()), {
    message: 'pods "x" is forbidden: status unknown for quota: q, resources: pods',
  });
  await send(set, Service, full(Service, { spec: { ports: [{ port: 80 }] } }));
});

test("a quota without a status limits nothing yet", async () => {
  const set = setUp();
  set.informers.put(ResourceQuota, {
    metadata: { name: "q", namespace: "shop" },
    spec: { hard: { pods: "0" } },
    status: {},
  });
  await send(set, Pod, pod());
});

test("every kind can be limited by its number, but not events, other namespaces and writes that create nothing", async () => {
  const hard = { "count/deployments.apps": "0", "count/leases.coordination.k8s.io": "0", configmaps: "0" };
  const used = { "count/deployments.apps": "0", "count/leases.coordination.k8s.io": "0", configmaps: "0" };
  const set = limited({ q: { hard, used } });
  const labels = { app: "a" };
  const template = { metadata: { labels }, spec: { containers: [{ name: "c", image: "i" }] } };
  const deployment = full(Deployment, { spec: { selector: { matchLabels: labels }, template } });
  await assert.rejects(send(set, Deployment, deployment), /exceeded quota: q, requested: count\/deployments.apps=1/);
  await assert.rejects(send(set, Lease, full(Lease, {})), /limited: count\/leases.coordination.k8s.io=0/);
  const update = { operation: "UPDATE", verb: "update", oldObject: deployment } as const;
  await send(set, Deployment, deployment, update);
  const away = full(ConfigMap, { metadata: { name: "x", namespace: "kube-node-lease" } });
  await send(set, ConfigMap, away, { namespace: "kube-node-lease" });
});

const scoped: [name: string, quota: Pick<Spec, "scopes" | "scopeSelector">, counted: PodSpec, not: PodSpec][] = [
  ["Terminating", { scopes: ["Terminating"] }, { activeDeadlineSeconds: 1 }, {}],
  ["NotTerminating", { scopes: ["NotTerminating"] }, {}, { activeDeadlineSeconds: 1 }],
  [
    "BestEffort",
    { scopes: ["BestEffort"] },
    {},
    { containers: [{ name: "c", resources: { requests: { cpu: "1" } } }] },
  ],
  [
    "NotBestEffort",
    { scopes: ["NotBestEffort"] },
    { containers: [{ name: "c", resources: { requests: { cpu: "1" } } }] },
    {},
  ],
  ["both scopes", { scopes: ["BestEffort", "Terminating"] }, { activeDeadlineSeconds: 1 }, {}],
  ["PriorityClass", { scopes: ["PriorityClass"] }, { priorityClassName: "system-node-critical" }, {}],
  [
    "PriorityClass In",
    { scopeSelector: { matchExpressions: [{ scopeName: "PriorityClass", operator: "In", values: ["a"] }] } },
    { priorityClassName: "a" },
    { priorityClassName: "b" },
  ],
  [
    "PriorityClass NotIn",
    { scopeSelector: { matchExpressions: [{ scopeName: "PriorityClass", operator: "NotIn", values: ["a"] }] } },
    {},
    { priorityClassName: "a" },
  ],
  [
    "PriorityClass DoesNotExist",
    { scopeSelector: { matchExpressions: [{ scopeName: "PriorityClass", operator: "DoesNotExist" }] } },
    {},
    { priorityClassName: "a" },
  ],
  [
    "CrossNamespacePodAffinity",
    { scopes: ["CrossNamespacePodAffinity"] },
    {
      affinity: {
        podAntiAffinity: {
          preferredDuringSchedulingIgnoredDuringExecution: [
            { weight: 1, podAffinityTerm: { topologyKey: "zone", namespaceSelector: {} } },
          ],
        },
      },
    },
    { affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: "zone" }] } } },
  ],
];
for (const [name, quota, counted, not] of scoped) {
  test(`a quota of the scope ${name} counts only the pods in it`, async () => {
    const set = limited({ q: { hard: { pods: "9" }, used: { pods: "0" }, ...quota } });
    for (const metadata of [{ name: "a" }, { name: "b" }]) {
      set.informers.put(PriorityClass, { metadata, value: 1 });
    }
    await send(set, Pod, pod({}, not));
    assert.equal(set.usedOf("q")?.pods, "0");
    await send(set, Pod, pod({}, counted));
    assert.equal(set.usedOf("q")?.pods, "1");
  });
}

test("a quota of a volume attributes class counts claims that have it or had it", async () => {
  const values = ["gold"];
  const scopeSelector = { matchExpressions: [{ scopeName: "VolumeAttributesClass", operator: "In", values }] };
  const set = limited({
    q: { hard: { persistentvolumeclaims: "9" }, used: { persistentvolumeclaims: "0" }, scopeSelector },
  });
  const claim = (spec: object, status = {}) => full(PersistentVolumeClaim, { spec, status });
  await send(set, PersistentVolumeClaim, claim({ volumeAttributesClassName: "silver" }));
  await send(set, PersistentVolumeClaim, claim({}));
  assert.equal(set.usedOf("q")?.persistentvolumeclaims, "0");
  await send(set, PersistentVolumeClaim, claim({ volumeAttributesClassName: "gold" }));
  const changing = claim({ volumeAttributesClassName: "silver" }, { currentVolumeAttributesClassName: "gold" });
  await send(set, PersistentVolumeClaim, changing);
  assert.equal(set.usedOf("q")?.persistentvolumeclaims, "2");
});

const updating = (oldObject: ApiObject, subresource = ""): Partial<AdmissionRequest> => ({
  operation: "UPDATE",
  verb: "update",
  subresource,
  oldObject,
});

test("an update is charged with what it takes in addition", async () => {
  const hard = { services: "1", "services.nodeports": "2", cpu: "2", "requests.storage": "3Gi" };
  const set = limited({
    q: { hard, used: { services: "1", "services.nodeports": "0", cpu: "1", "requests.storage": "2Gi" } },
  });
  const service = (type: Service["spec"]["type"]) =>
    full(Service, { spec: { type, ports: [{ port: 80 }, { port: 81 }] } });
  await send(set, Service, service("NodePort"), updating(service("ClusterIP")));
  assert.equal(set.usedOf("q")?.["services.nodeports"], "2");
  await send(set, Service, service("ClusterIP"), updating(service("NodePort")));
  assert.equal(set.usedOf("q")?.["services.nodeports"], "2", "the controller gives back");

  const sized = (cpu: string) => pod({ requests: { cpu } });
  await send(set, Pod, sized("1500m"), updating(sized("1"), "resize"));
  assert.equal(set.usedOf("q")?.cpu, "1500m");
  await assert.rejects(
    send(set, Pod, sized("3"), updating(sized("1500m"), "resize")),
    /requested: cpu=1500m, used: cpu=1500m/,
  );
  await send(set, Pod, sized("9"), updating(sized("1"), "status"));

  const storageClassName = "growing";
  set.informers.put(StorageClass, {
    metadata: { name: storageClassName },
    provisioner: "p",
    allowVolumeExpansion: true,
  });
  const claim = (storage: string, status = {}) =>
    full(PersistentVolumeClaim, {
      spec: { storageClassName, resources: { requests: { storage } } },
      status: { phase: "Bound", ...status },
    });
  await assert.rejects(
    send(set, PersistentVolumeClaim, claim("4Gi"), updating(claim("2Gi"))),
    /requested: requests.storage=2Gi/,
  );
  const grown = claim("2Gi", { allocatedResources: { storage: "5Gi" } });
  await send(set, PersistentVolumeClaim, grown, updating(claim("2Gi"), "status"));
  assert.equal(set.usedOf("q")?.["requests.storage"], "5Gi", "what a controller has observed is recorded");
});

test("a pod that comes into the scope of a quota by an update is new to it", async () => {
  const set = limited({ q: { hard: { pods: "1" }, used: { pods: "0" }, scopes: ["Terminating"] } });
  const ending = pod({}, { activeDeadlineSeconds: 1 });
  await send(set, Pod, ending, updating(pod()));
  assert.equal(set.usedOf("q")?.pods, "1");
  await send(set, Pod, pod(), updating(ending));
  assert.equal(set.usedOf("q")?.pods, "1");
});

test("a dry run is refused like a real one, but not charged", async () => {
  const set = limited({ q: { hard: { pods: "1" }, used: { pods: "0" } } });
  await send(set, Pod, pod(), { dryRun: true });
  assert.equal(set.usedOf("q")?.pods, "0");
  await send(set, Pod, pod());
  await assert.rejects(send(set, Pod, pod(), { dryRun: true }), /exceeded quota/);
});

test("names of limits that are members of every object are only names", async () => {
  const set = limited({ q: { hard: { "count/constructor": "1", pods: "1" }, used: { pods: "0" } } });
  await send(set, Pod, pod());
  assert.deepEqual(set.usedOf("q"), { pods: "1" });
});
