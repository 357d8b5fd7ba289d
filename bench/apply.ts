/** Measures the cost of tracking field ownership for a pod create and a status patch, and of a strategic merge. */
import { Pod } from "#api/core/pod.ts";
import { type ApiObject, type Resource } from "#api/resource.ts";
import { atOnce } from "#lib/async/turns.ts";
import { decode } from "#schema/json/decode.ts";
import { strategicMerge } from "#schema/merge.ts";
import { updateManagedFields } from "#server/apply/fields/managed-fields.ts";

const resource: Resource = { ...Pod, subresources: [{ name: "status", verbs: ["get", "patch", "update"] }] };
const raw = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: {
    generateName: "web-7d4b9c-",
    namespace: "default",
    labels: { app: "web", "pod-template-hash": "7d4b9c" },
    ownerReferences: [{ apiVersion: "apps/v1", kind: "ReplicaSet", name: "web-7d4b9c", uid: "1", controller: true }],
  },
  spec: {
    containers: [
      {
        name: "web",
        image: "registry.example/web:1",
        ports: [{ containerPort: 80 }],
        env: [
          { name: "POD_NAME", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
          { name: "MODE", value: "fast" },
        ],
        resources: { requests: { cpu: "100m", memory: "64Mi" }, limits: { memory: "128Mi" } },
        readinessProbe: { httpGet: { path: "/", port: 80 }, periodSeconds: 5 },
        volumeMounts: [{ name: "data", mountPath: "/data" }],
      },
    ],
    volumes: [{ name: "data", emptyDir: {} }],
    tolerations: [{ key: "node.kubernetes.io/not-ready", operator: "Exists", effect: "NoExecute" }],
  },
};
const decodePod = (json: unknown): ApiObject => decode(Pod.schema, json, { defaults: true }).value;

const created = decodePod(raw);
const stored = {
  ...created,
  metadata: { ...created.metadata, uid: "u", managedFields: [...(track(undefined, created, "") ?? [])] },
};
const conditions = (ready: string) =>
  ["PodScheduled", "Initialized", "ContainersReady", "Ready"].map((type) => ({
    type,
    status: type.endsWith("Ready") ? ready : "True",
    lastTransitionTime: "2026-01-01T00:00:00Z",
  }));
const starting = merged(stored, {
  phase: "Pending",
  conditions: conditions("False"),
  hostIP: "10.0.0.1",
  startTime: "2026-01-01T00:00:00Z",
});
const watched = {
  ...starting,
  metadata: { ...starting.metadata, managedFields: [...(track(stored, starting, "status") ?? [])] },
};
const patch = { phase: "Running", conditions: conditions("True"), podIP: "10.1.0.5", podIPs: [{ ip: "10.1.0.5" }] };
const ready = merged(watched, patch);
const copy = decodePod(JSON.parse(JSON.stringify(ready)));

function merged(object: ApiObject, status: unknown): ApiObject {
  return decodePod(strategicMerge(Pod.schema, { ...object }, { status }));
}
function track(oldObject: ApiObject | undefined, newObject: ApiObject, subresource: string) {
  return atOnce(updateManagedFields({ resource, oldObject, newObject, manager: "kubelet", subresource, now: 0 }));
}

function measure(name: string, run: () => unknown): void {
  for (let warm = 0; warm < 20_000; warm++) run();
  const rounds = 50_000;
  const start = performance.now();
  for (let round = 0; round < rounds; round++) run();
  const micros = ((performance.now() - start) / rounds) * 1000;
  console.log(`${name.padEnd(42)}${micros.toFixed(2).padStart(8)} µs`);
}

const sharing = { ...ready, spec: (watched as { spec?: unknown }).spec };
measure("managedFields of a pod create", () => track(undefined, created, ""));
measure("managedFields of a first status patch", () => track(stored, starting, "status"));
measure("managedFields of a later status patch", () => track(watched, ready, "status"));
measure("the same, spec shared with the stored pod", () => track(watched, sharing, "status"));
measure("managedFields of an update with no change", () => track(ready, copy, ""));
measure("strategic merge of the status patch", () => strategicMerge(Pod.schema, { ...watched }, { status: patch }));
