import assert from "node:assert/strict";
import { test } from "node:test";
import { Deployment } from "#api/apps/deployment.ts";
import { StatefulSet } from "#api/apps/stateful-set.ts";
import { ConfigMap } from "#api/core/config-map.ts";
import { Node } from "#api/core/node.ts";
import { Pod } from "#api/core/pod.ts";
import { Service } from "#api/core/service.ts";
import { EndpointSlice } from "#api/discovery/endpoint-slice.ts";
import { type InputOf } from "#api/resource.ts";
import { timestamp } from "#lib/async/clock.ts";
import { build } from "#testing/build.ts";
import { type HopName } from "#trace/hop.ts";
import { explain } from "./explain.ts";
import { ago, event, nowMs, podOf } from "./facts.suite.ts";
import { type Facts, type PodFacts, type ServiceFacts } from "./facts.ts";
import { planRooms } from "./rooms.ts";

const node = build(Node, {
  metadata: { name: "n1", labels: { zone: "a" } },
  status: {
    allocatable: { cpu: "4", memory: "8Gi", pods: "10" },
    conditions: [{ type: "Ready", status: "True", lastTransitionTime: ago(500) }],
  },
});
const lost = build(Node, {
  metadata: { name: "n1" },
  status: {
    conditions: [{ type: "Ready", status: "Unknown", reason: "NodeStatusUnknown", lastTransitionTime: ago(90) }],
  },
});

type Spec = InputOf<Pod["spec"]>;
type Status = InputOf<Pod["status"]>;
const about = { fieldPath: "spec.containers{c}" };

function facts(pod: Pod, parts: Partial<PodFacts> = {}): Facts {
  const placed = pod.spec.nodeName ? { node, heartbeatMs: nowMs - 3000 } : { node: undefined, heartbeatMs: undefined };
  const none = { events: [], rooms: [], attempts: [], missing: [], logs: new Map(), services: [] };
  return { about: "pod", nowMs, pod, ...placed, ...none, ...parts };
}

const refusing = (plugin: string, ...reasons: string[]) => ({
  attempts: [
    {
      atMs: nowMs - 4000,
      attempt: 3,
      node: "",
      evaluated: 1,
      message: "0/1 nodes are available",
      rejections: [{ node: "n1", plugin, reasons }],
    },
  ],
  rooms: planRooms(
    [node],
    [podOf({ nodeName: "n1", containers: [{ name: "x", image: "i", resources: { requests: { cpu: "2500m" } } }] }, {})],
  ),
});

/** A pod with a node, whose container is in this state. */
const withState = (state: object, more: object = {}, status: Status = {}): Pod =>
  podOf(
    { nodeName: "n1" },
    {
      phase: "Pending",
      startTime: ago(50),
      containerStatuses: [{ name: "c", image: "", imageID: "", ready: false, restartCount: 0, state, ...more }],
      ...status,
    },
  );
const waiting = (reason: string, message = "", more: object = {}): Pod =>
  withState({ waiting: { reason, message } }, more);
const crashed = (ended: object, message = "back-off 40s restarting failed container=c pod=web") =>
  waiting("CrashLoopBackOff", message, {
    restartCount: 3,
    lastState: { terminated: { exitCode: 1, startedAt: ago(25), finishedAt: ago(20), ...ended } },
  });
const running = (status: Status = {}, spec: Spec = {}): Pod =>
  podOf(
    { nodeName: "n1", ...spec },
    {
      phase: "Running",
      startTime: ago(50),
      containerStatuses: [
        {
          name: "c",
          image: "",
          imageID: "",
          ready: false,
          started: true,
          restartCount: 0,
          state: { running: { startedAt: ago(40) } },
        },
      ],
      ...status,
    },
  );
const ready = (): Pod => running({ conditions: [{ type: "Ready", status: "True" }], podIP: "10.0.0.1" });

const serviceOf = (spec: InputOf<Service["spec"]>, parts: Partial<ServiceFacts> = {}): ServiceFacts => ({
  service: build(Service, { metadata: { namespace: "default", name: "web" }, spec }),
  pods: [],
  near: [],
  slices: [],
  stuck: undefined,
  ...parts,
});
const slice = build(EndpointSlice, {
  metadata: { namespace: "default", name: "web-1" },
  addressType: "IPv4",
  endpoints: [{ addresses: ["10.0.0.1"], conditions: { ready: true } }],
});

interface Case {
  readonly name: string;
  readonly facts: Facts;
  readonly hop: HopName | undefined;
  readonly says: RegExp;
  readonly evidence?: RegExp;
  readonly advice?: RegExp;
}

const probe = { httpGet: { path: "/healthz", port: 8080 } };
const image = (message: string) => ({
  facts: facts(waiting("ImagePullBackOff", `Back-off pulling image: ErrImagePull: ${message}`), {
    events: [event("Failed", `Failed to pull image "registry.test/web:1": ${message}`, { ...about, count: 2 })],
  }),
  hop: "run" as const,
});

const cases: readonly Case[] = [
  {
    name: "a pod that requests more than is free",
    facts: facts(
      podOf({ containers: [{ name: "c", image: "i", resources: { requests: { cpu: "2" } } }] }, {}),
      refusing("NodeResourcesFit", "Insufficient cpu"),
    ),
    hop: "schedule",
    says: /the pod requests 2 cpu, and at most 1500m is free \(on n1\)\.$/,
    evidence: /n1: Insufficient cpu \(requests 2, free 1500m of 4 cpu\)/,
    advice: /Request less than 2 cpu/,
  },
  {
    name: "a pod that requests more than any node has",
    facts: facts(
      podOf({ containers: [{ name: "c", image: "i", resources: { requests: { cpu: "40" } } }] }, {}),
      refusing("NodeResourcesFit", "Insufficient cpu"),
    ),
    hop: "schedule",
    says: /requests 40 cpu/,
    advice: /No node is large enough even when empty \(the largest has 4 cpu\)/,
  },
  {
    name: "a taint",
    facts: facts(podOf({}, {}), {
      ...refusing("TaintToleration", "node(s) had untolerated taint(s)"),
      rooms: planRooms([{ ...node, spec: { taints: [{ key: "team", value: "a", effect: "NoSchedule" }] } }], []),
    }),
    hop: "schedule",
    says: /the only node, n1, does not fit: it has a taint that the pod does not tolerate/,
    advice: /kubectl taint node n1 team-/,
  },
  {
    name: "a node selector",
    facts: facts(
      podOf({ nodeSelector: { disk: "ssd" } }, {}),
      refusing("NodeAffinity", "node(s) didn't match Pod's node affinity/selector"),
    ),
    hop: "schedule",
    says: /outside the pod's node selector/,
    evidence: /wants label disk=ssd, has none/,
    advice: /kubectl label node n1 disk=ssd/,
  },
  {
    name: "a host port in use",
    facts: facts(podOf({}, {}), refusing("NodePorts", "node(s) didn't have free ports for the requested pod ports")),
    hop: "schedule",
    says: /host port already in use/,
  },
  {
    name: "a node that can have no more volumes",
    facts: facts(podOf({}, {}), refusing("NodeVolumeLimits", "node(s) exceed max volume count")),
    hop: "schedule",
    says: /has as many volumes as it can have/,
    advice: /kubectl get csinode n1/,
  },
  {
    name: "no nodes",
    facts: facts(podOf({}, {}), {
      attempts: [
        {
          atMs: nowMs,
          attempt: 1,
          node: "",
          evaluated: 0,
          message: "no nodes available to schedule pods",
          rejections: [],
        },
      ],
    }),
    hop: "schedule",
    says: /the cluster has no nodes/,
  },
  {
    name: "gates",
    facts: facts(podOf({ schedulingGates: [{ name: "a/b" }] }, {})),
    hop: "schedule",
    says: /1 scheduling gate holds it: a\/b/,
  },
  {
    name: "a plugin that keeps the pod out of the queue",
    facts: facts(podOf({}, {}), {
      queue: { place: "gated", plugin: "Coscheduling", reason: "waiting for 2 pods of group default/g", wokenBy: {} },
    }),
    hop: "schedule",
    says: /the plugin Coscheduling holds it back: waiting for 2 pods of group default\/g\./,
  },
  {
    name: "a plugin that has not permitted the binding",
    facts: facts(podOf({}, {}), {
      attempts: [{ atMs: nowMs - 4000, attempt: 1, node: "n1", evaluated: 1, message: "placed on n1", rejections: [] }],
      queue: { place: "permit", plugin: "Coscheduling", wokenBy: {} },
    }),
    hop: "schedule",
    says: /has a node and waits for the permission of the plugin Coscheduling/,
  },
  ...["NodeResourcesFit", "Coscheduling"].map((plugin) => ({
    name: `a group that does not fit, after a rejection by ${plugin}`,
    facts: facts(podOf({}, {}), {
      ...refusing("Coscheduling"),
      attempts: [
        ...refusing("Coscheduling", "another pod of group default/g fits on no node").attempts,
        ...refusing(
          plugin,
          plugin === "Coscheduling" ? "another pod of group default/g was rejected" : "Insufficient cpu",
        ).attempts,
      ],
    }),
    hop: "schedule" as const,
    says: /^Pod web cannot be scheduled: the pods of its group default\/g do not all fit at the same time\.$/,
    evidence: /^it had a node and gave it up: another pod of group default\/g/,
  })),
  {
    name: "an extender that fails",
    facts: facts(
      podOf(
        {},
        {
          conditions: [
            { type: "PodScheduled", status: "False", reason: "SchedulerError", message: "extender: no answer" },
          ],
        },
      ),
    ),
    hop: "schedule",
    says: /the last attempt failed: extender: no answer/,
  },
  {
    name: "an attempt that failed because a claim has no volume",
    facts: facts(
      podOf(
        {},
        { conditions: [{ type: "PodScheduled", status: "False", reason: "SchedulerError", message: "reset" }] },
      ),
      { claims: ["data"], rooms: planRooms([node], []) },
    ),
    hop: "schedule",
    says: /^Pod web cannot be scheduled because PersistentVolumeClaim data does not exist\.$/,
  },
  {
    name: "claims for devices that the only node does not have",
    facts: facts(podOf({}, {}), refusing("DynamicResources", "cannot allocate all claims")),
    hop: "schedule",
    says: /it has no devices for the claims of the pod: cannot allocate all claims\.$/,
    advice: /kubectl get resourceclaims,resourceslices/,
  },
  {
    name: "an extender that refuses the only node, and manages a resource that no node has",
    facts: facts(
      podOf({ containers: [{ name: "c", image: "i", resources: { requests: { "example.com/moon": "1" } } }] }, {}),
      refusing("Extender", "the moon is full"),
    ),
    hop: "schedule",
    says: /it is refused by an extender: the moon is full\.$/,
    evidence: /^n1: the moon is full$/m,
    advice: /^Ask whoever runs the extender/,
  },
  {
    name: "a scheduler that does not run",
    facts: facts(podOf({ schedulerName: "mine" }, {})),
    hop: "schedule",
    says: /is waiting for a scheduler called mine/,
  },
  {
    name: "no scheduler at all",
    facts: facts(podOf({}, {})),
    hop: "schedule",
    says: /no scheduler has tried to place it/,
  },
  {
    name: "an unschedulable pod without the scheduler's records",
    facts: facts(
      podOf(
        {},
        {
          conditions: [
            {
              type: "PodScheduled",
              status: "False",
              reason: "Unschedulable",
              message: "0/3 nodes are available: 3 Insufficient memory.",
            },
          ],
        },
      ),
      { attempts: undefined },
    ),
    hop: "schedule",
    says: /0\/3 nodes are available: 3 Insufficient memory\./,
  },
  {
    name: "a kubelet that does not pick up the pod",
    facts: facts(
      podOf(
        { nodeName: "n1" },
        { conditions: [{ type: "PodScheduled", status: "True", lastTransitionTime: ago(30) }] },
      ),
      { heartbeatMs: undefined },
    ),
    hop: "run",
    says: /placed on n1 30s ago, but its kubelet has not picked it up/,
    evidence: /never sent a heartbeat/,
  },
  {
    name: "a lost node",
    facts: facts(ready(), { node: lost, heartbeatMs: nowMs - 130_000 }),
    hop: "run",
    says: /unknown state because its node n1 was lost 90s ago/,
    evidence: /last heartbeat 2m10s ago/,
  },
  {
    name: "a node that is gone",
    facts: facts(ready(), { node: undefined }),
    hop: "run",
    says: /there is no such node/,
  },
  {
    name: "a pull in progress",
    facts: facts(waiting("ContainerCreating"), { events: [event("Pulling", 'Pulling image "registry.test/web:1"')] }),
    hop: "run",
    says: /waiting for the image registry.test\/web:1; the pull started 5s ago/,
  },
  {
    name: "a missing configMap in a volume",
    facts: facts(waiting("ContainerCreating"), {
      missing: ['configmap "settings"'],
      events: [event("FailedMount", 'MountVolume.SetUp failed for volume "v" : configmap "settings" not found')],
    }),
    hop: "run",
    says: /it refers to configmap "settings", which does not exist/,
    advice: /Create configmap "settings" in namespace default/,
  },
  {
    name: "devices whose driver is missing",
    facts: facts(waiting("ContainerCreating"), {
      events: [
        event(
          "FailedPrepareDynamicResources",
          "Failed to prepare dynamic resources: prepare dynamic resources: ResourceClaim gpu: DRA driver gpu.example.com is not registered",
        ),
      ],
    }),
    hop: "run",
    says: /does not start because the DRA driver gpu\.example\.com is not registered on node n1\.$/,
    advice: /Install or start the driver gpu\.example\.com on n1/,
  },
  {
    name: "devices that a driver does not prepare",
    facts: facts(waiting("ContainerCreating"), {
      events: [event("FailedPrepareDynamicResources", "NodePrepareResources failed for ResourceClaim gpu: no power")],
    }),
    hop: "run",
    says: /devices of its claims cannot be prepared on node n1\.$/,
    evidence: /no power/,
  },
  {
    name: "a network that fails",
    facts: facts(waiting("ContainerCreating"), {
      events: [event("FailedCreatePodSandBox", "Failed to create pod sandbox: plugin type=bridge failed")],
    }),
    hop: "run",
    says: /its network could not be set up on n1/,
  },
  {
    name: "a node without addresses",
    facts: facts(waiting("ContainerCreating"), {
      events: [event("FailedCreatePodSandBox", "no IP addresses available in range set: 10.0.0.0")],
    }),
    hop: "run",
    says: /the node has no address left/,
  },
  {
    name: "a pod that is just starting",
    facts: facts(waiting("ContainerCreating")),
    hop: "run",
    says: /is being started on n1; nothing has failed/,
  },
  {
    name: "an image that does not exist",
    ...image("manifest unknown: not found"),
    says: /the registry registry.test has no image/,
    evidence: /tried 2 times, next try in 15s/,
  },
  {
    name: "an image that needs a login",
    ...image("401 Unauthorized"),
    says: /does not allow the node to pull/,
    advice: /has no imagePullSecrets/,
  },
  {
    name: "an unreachable registry",
    ...image("dial tcp: lookup registry.test: no such host"),
    says: /the registry registry.test cannot be reached/,
  },
  {
    name: "an image for another platform",
    ...image("no match for platform in manifest: not found"),
    says: /does not support the node's platform/,
  },
  {
    name: "an image that may not be pulled",
    facts: facts(waiting("ErrImageNeverPull")),
    hop: "run",
    says: /pull policy Never forbids/,
  },
  {
    name: "an invalid image name",
    facts: facts(waiting("InvalidImageName")),
    hop: "run",
    says: /is not the name of an image/,
  },
  {
    name: "a missing secret for environment variables",
    facts: facts(waiting("CreateContainerConfigError", 'secret "db" not found')),
    hop: "run",
    says: /the secret db, which its environment comes from, does not exist/,
  },
  {
    name: "a missing key",
    facts: facts(waiting("CreateContainerConfigError", "couldn't find key password in Secret default/db")),
    hop: "run",
    says: /the Secret default\/db has no key password/,
  },
  {
    name: "a command that does not exist",
    facts: facts(waiting("RunContainerError", 'exec: "serve": executable file not found in $PATH')),
    hop: "run",
    says: /cannot be executed/,
  },
  {
    name: "a crash loop",
    facts: facts(crashed({}), { logs: new Map([["c", ["starting", "no database"]]]) }),
    hop: "run",
    says: /keeps failing because container c exits with code 1/,
    evidence:
      /exited 20s ago with code 1 after running for 5s; restarted 3 times so far[\s\S]* {2}no database[\s\S]*next restart in 20s/,
  },
  {
    name: "a crash loop without a word",
    facts: facts(crashed({}), { logs: new Map() }),
    hop: "run",
    says: /keeps failing because container c exits with code 1/,
    evidence: /its log is empty/,
    advice: /^It does not log why\..*`kubectl debug web -n default -it --copy-to=web-debug --container=c -- sh`\.$/,
  },
  {
    name: "a container out of memory",
    facts: facts({
      ...crashed({ exitCode: 137, reason: "OOMKilled" }),
      spec: podOf(
        { nodeName: "n1", containers: [{ name: "c", image: "i", resources: { limits: { memory: "64Mi" } } }] },
        {},
      ).spec,
    }),
    hop: "run",
    says: /uses more memory than its limit of 64Mi and is killed/,
  },
  {
    name: "a liveness probe that fails",
    facts: facts(crashed({ exitCode: 137 }), {
      events: [
        event("Unhealthy", "Liveness probe failed: HTTP probe failed with statuscode: 500", about),
        event("Killing", "Container c failed liveness probe, will be restarted", about),
      ],
    }),
    hop: "run",
    says: /fails its liveness probe and is killed/,
    evidence: /statuscode: 500/,
  },
  {
    name: "a program that exits successfully",
    facts: facts(crashed({ exitCode: 0, reason: "Completed" })),
    hop: "run",
    says: /exits without an error/,
  },
  {
    name: "a signal",
    facts: facts(crashed({ exitCode: 139 })),
    hop: "run",
    says: /exits with code 139 \(signal 11, a segmentation fault\)/,
  },
  {
    name: "a running init container",
    facts: facts(
      podOf(
        { nodeName: "n1", initContainers: [{ name: "prepare", image: "i" }] },
        {
          phase: "Pending",
          startTime: ago(50),
          initContainerStatuses: [
            {
              name: "prepare",
              image: "",
              imageID: "",
              ready: false,
              restartCount: 0,
              state: { running: { startedAt: ago(30) } },
            },
          ],
        },
      ),
    ),
    hop: "run",
    says: /waits for its init container prepare/,
  },
  {
    name: "a readiness probe that fails",
    facts: facts(running({}, { containers: [{ name: "c", image: "i", readinessProbe: probe }] }), {
      events: [event("Unhealthy", "Readiness probe failed: HTTP probe failed with statuscode: 503", about)],
    }),
    hop: "serve",
    says: /its readiness probe fails: HTTP probe failed with statuscode: 503/,
    evidence: /GET http:\/\/:8080\/healthz every 10s, fails after 3 failures in a row/,
  },
  {
    name: "a startup probe that has not passed",
    facts: facts(
      running(
        {
          containerStatuses: [
            {
              name: "c",
              image: "",
              imageID: "",
              ready: false,
              started: false,
              restartCount: 0,
              state: { running: {} },
            },
          ],
        },
        { containers: [{ name: "c", image: "i", startupProbe: probe, readinessProbe: probe }] },
      ),
    ),
    hop: "serve",
    says: /its startup probe has not passed yet/,
  },
  {
    name: "a readiness gate",
    facts: facts(
      running(
        {
          containerStatuses: [
            { name: "c", image: "", imageID: "", ready: true, started: true, restartCount: 0, state: { running: {} } },
          ],
        },
        { readinessGates: [{ conditionType: "example.com/lb" }] },
      ),
    ),
    hop: "serve",
    says: /readiness gate example.com\/lb is not met/,
  },
  {
    name: "a pod whose service names a port that it does not have",
    facts: facts(ready(), {
      services: [
        serviceOf({ selector: { app: "web" }, ports: [{ port: 80, targetPort: "http" }] }, { pods: [ready()] }),
      ],
    }),
    hop: "serve",
    says: /no container of its pods has a port called http/,
  },
  { name: "a healthy pod", facts: facts(ready()), hop: undefined, says: /Pod web is ready: nothing is stuck/ },
  {
    name: "a completed pod",
    facts: facts(podOf({ nodeName: "n1" }, { phase: "Succeeded" })),
    hop: undefined,
    says: /has completed/,
  },
  {
    name: "an evicted pod",
    facts: facts(
      podOf(
        { nodeName: "n1" },
        { phase: "Failed", reason: "Evicted", message: "The node was low on resource: memory. " },
      ),
    ),
    hop: "run",
    says: /failed for good because it was evicted: The node was low on resource: memory\.$/m,
  },
  {
    name: "a pod within its grace period",
    facts: facts(
      podOf(
        { nodeName: "n1" },
        { phase: "Running" },
        { deletionTimestamp: timestamp(nowMs + 20_000), deletionGracePeriodSeconds: 30 },
      ),
    ),
    hop: undefined,
    says: /is terminating: its containers have 20s left/,
    evidence: /deleted 10s ago, with a grace period of 30s/,
  },
  {
    name: "a pod held by a finalizer",
    facts: facts(
      podOf(
        { nodeName: "n1" },
        { phase: "Running" },
        { deletionTimestamp: ago(40), deletionGracePeriodSeconds: 0, finalizers: ["a/b"] },
      ),
    ),
    hop: undefined,
    says: /1 finalizer holds it: a\/b/,
  },
  {
    name: "a pod that terminates on a lost node",
    facts: facts(
      podOf({ nodeName: "n1" }, { phase: "Running" }, { deletionTimestamp: ago(40), deletionGracePeriodSeconds: 30 }),
      { heartbeatMs: nowMs - 300_000 },
    ),
    hop: undefined,
    says: /cannot terminate because its node n1 has sent no heartbeat/,
    advice: /--force --grace-period=0/,
  },
  {
    name: "a selector that matches nothing",
    facts: { about: "service", ...serviceOf({ selector: { app: "wob" }, ports: [{ port: 80 }] }, { near: [ready()] }) },
    hop: "serve",
    says: /no pod in namespace default has the labels app=wob/,
    evidence: /it has app=web instead of wob/,
  },
  {
    name: "a service none of whose pods is ready",
    facts: {
      about: "service",
      ...serviceOf(
        { selector: { app: "web" }, ports: [{ port: 80 }] },
        { pods: [crashed({})], stuck: facts(crashed({})) as Facts & { about: "pod" } },
      ),
    },
    hop: "run",
    says: /its only pod is not ready: Pod web keeps failing/,
  },
  {
    name: "a service that works",
    facts: {
      about: "service",
      ...serviceOf({ selector: { app: "web" }, ports: [{ port: 80 }] }, { pods: [ready()], slices: [slice] }),
    },
    hop: undefined,
    says: /leads to 1 ready endpoint: nothing is stuck/,
  },
  {
    name: "a service whose external address is not its own",
    facts: {
      about: "service",
      ...serviceOf(
        { selector: { app: "web" }, ports: [{ port: 80 }] },
        {
          ...{ pods: [ready()], slices: [slice] },
          events: [event("NetworkRuleIgnored", "external address 10.96.0.10 is ignored: it belongs to the services")],
        },
      ),
    },
    hop: "serve",
    says: /works, but the node ignores part of it/,
    evidence: /external address 10\.96\.0\.10 is ignored/,
  },
  {
    name: "a lost node asked about itself",
    facts: { about: "node", nowMs, node: lost, heartbeatMs: nowMs - 130_000, events: [] },
    hop: "run",
    says: /Node n1 was lost 90s ago/,
  },
  {
    name: "an object that was refused",
    facts: {
      about: "absent",
      nowMs,
      resource: Deployment,
      namespace: "default",
      name: "bad",
      refusal: {
        atMs: nowMs - 2000,
        verb: "create",
        user: "ann",
        status: 422,
        hop: "schema",
        message: "spec.replicas: Invalid value",
      },
      removal: undefined,
    },
    hop: "schema",
    says: /There is no Deployment bad in namespace default because the API server refused it: spec.replicas/,
    evidence: /create by ann 2s ago got 422 at hop 5 \(schema\)/,
  },
  {
    name: "a service whose address is not to be had, which trying again does not change",
    facts: {
      about: "absent",
      nowMs,
      ...{ resource: Service, namespace: "default", name: "web", removal: undefined },
      refusal: { atMs: nowMs, verb: "create", user: "ann", status: 422, hop: "persist", message: "failed to allocate" },
    },
    hop: "persist",
    says: /refused it: failed to allocate/,
    advice: /^Correct what the message names/,
  },
  {
    name: "an object that its writer had no right to create",
    facts: {
      about: "absent",
      nowMs,
      resource: Deployment,
      namespace: "default",
      name: "web",
      refusal: {
        atMs: nowMs - 2000,
        verb: "create",
        user: "ann",
        status: 403,
        hop: "authorize",
        message: 'deployments.apps is forbidden: User "ann" cannot create',
        missing: 'no rule allows it: it needs {…}, which ClusterRole "edit" has',
      },
      removal: undefined,
    },
    hop: "authorize",
    says: /refused it: deployments.apps is forbidden/,
    evidence: /which ClusterRole "edit" has/,
  },
  {
    name: "an object that a finalizer holds",
    facts: {
      about: "object",
      nowMs,
      resource: ConfigMap,
      object: build(ConfigMap, {
        metadata: { name: "cm", namespace: "default", deletionTimestamp: ago(9), finalizers: ["x/y"] },
      }),
    },
    hop: undefined,
    says: /ConfigMap cm cannot be removed because 1 finalizer holds it: x\/y/,
  },
  {
    name: "an object that a finalizer of Kubernetes itself holds",
    facts: {
      about: "object",
      nowMs,
      resource: ConfigMap,
      object: build(ConfigMap, {
        metadata: { name: "cm", namespace: "default", deletionTimestamp: ago(9), finalizers: ["foregroundDeletion"] },
      }),
    },
    hop: undefined,
    says: /ConfigMap cm cannot be removed because 1 finalizer holds it: foregroundDeletion/,
    advice: /^It stays until the objects that it owns are gone.*$/,
  },
  {
    name: "nothing about an object of another kind, except that it exists",
    facts: {
      about: "object",
      nowMs,
      resource: ConfigMap,
      object: build(ConfigMap, { metadata: { name: "cm", namespace: "default" } }),
    },
    hop: undefined,
    says: /^ConfigMap cm exists and is not being deleted\.$/,
    advice: /no further checks for this kind.*`orlop trace configmaps\/cm -n default`\.$/,
  },
];

for (const { name, facts: given, hop, says, evidence, advice } of cases) {
  test(`explain() knows ${name}`, () => {
    const explanation = explain(given);

    assert.match(explanation.headline, says);
    assert.equal(explanation.hop, hop);
    if (evidence) assert.match(explanation.evidence.join("\n"), evidence);
    if (advice) assert.match(explanation.advice.join("\n"), advice);
  });
}

const deployment = (status: InputOf<Deployment["status"]>): Deployment =>
  build(Deployment, {
    metadata: { namespace: "default", name: "web", generation: 1 },
    spec: {
      replicas: 2,
      selector: { matchLabels: { app: "web" } },
      template: { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "c", image: "i" }] } },
    },
    status: { observedGeneration: 1, ...status },
  });
const workload = (object: Deployment, pods: readonly Pod[]): Facts => ({
  about: "workload",
  nowMs,
  kind: "Deployment",
  object,
  events: [],
  newest: undefined,
  newestEvents: [],
  pods,
  stuck: pods.filter((pod) => pod.status.phase !== "Running").map((pod) => facts(pod) as Facts & { about: "pod" }),
});

test("explain() explains a Deployment by its stuck pod", () => {
  const { headline, hop } = explain(workload(deployment({}), [ready(), crashed({})]));

  assert.match(
    headline,
    /^Deployment web has 1 of 2 pods not ready\. Pod web keeps failing because container c exits with code 1/,
  );
  assert.equal(hop, "run");
});

test("explain() names the gate that refuses a Deployment's pods", () => {
  const message =
    'pods "web-1" is forbidden: error looking up service account default/nobody: serviceaccount "nobody" not found';
  const refused = deployment({
    conditions: [
      { type: "ReplicaFailure", status: "True", reason: "FailedCreate", message, lastTransitionTime: ago(3) },
    ],
  });
  const { headline, hop, advice } = explain(workload(refused, []));

  assert.match(headline, /the API server refuses its pods: pods "web-1" is forbidden/);
  assert.equal(hop, "admit");
  assert.match(advice.join(), /Create the service account nobody/);
});

test("explain() names the quota that refuses the pods of a Deployment", () => {
  const adviceFor = (why: string) => {
    const message = `pods "web-1" is forbidden: ${why}`;
    const condition = { type: "ReplicaFailure", status: "True" as const, reason: "FailedCreate", message };
    const refused = deployment({ conditions: [{ ...condition, lastTransitionTime: ago(3) }] });
    return explain(workload(refused, [])).advice.join();
  };
  assert.match(
    adviceFor("exceeded quota: team-a, requested: pods=1, used: pods=5, limited: pods=5"),
    /quota team-a is used up/,
  );
  assert.match(adviceFor("failed quota: team-a: must specify cpu for: c"), /team-a demands these resources/);
  assert.match(adviceFor("status unknown for quota: team-a, resources: pods"), /team-a has not been counted yet/);
});

test("explain() recognises a complete Deployment, and one that no controller has seen", () => {
  assert.match(explain(workload(deployment({ readyReplicas: 2 }), [ready(), ready()])).headline, /all 2 pods ready/);
  assert.equal(explain(workload(deployment({ observedGeneration: 0 }), [])).hop, "control");
});

test("explain() takes the cause from an event that is newer than the condition, which keeps its first message", () => {
  const message = 'pods "web-1" is forbidden: failed quota: few: must specify requests.cpu for: c';
  const condition = { type: "ReplicaFailure", status: "True" as const, reason: "FailedCreate", message };
  const refused = deployment({ conditions: [{ ...condition, lastTransitionTime: ago(60) }] });
  const now = 'pods "web-2" is forbidden: exceeded quota: few, requested: pods=1, used: pods=2, limited: pods=2';
  const older = event("ReplicaSetCreateError", "Failed to create new replica set", { lastMs: nowMs - 90_000 });
  const failed = event("FailedCreate", `Error creating: ${now}`);
  const facts = { ...workload(refused, []), events: [older], newestEvents: [failed] } as Facts;

  const { headline, advice } = explain(facts);

  assert.match(headline, /refuses its pods: pods "web-2" is forbidden: exceeded quota: few/);
  assert.match(advice.join(), /The quota few is used up/);
});

test("explain() tells a claim that is refused from a pod", () => {
  const set = build(StatefulSet, {
    metadata: { namespace: "default", name: "db", generation: 1 },
    spec: { replicas: 1, selector: { matchLabels: { app: "db" } }, template: { spec: { containers: [] } } },
    status: { observedGeneration: 1, replicas: 0 },
  });
  const why =
    'persistentvolumeclaims "data-db-0" is forbidden: exceeded quota: q, requested: requests.storage=10Gi, used: requests.storage=0, limited: requests.storage=5Gi';
  const said = event("FailedCreate", `create Claim data-db-0 Pod db-0 in StatefulSet db failed error: ${why}`);
  const facts = { ...workload(deployment({}), []), kind: "StatefulSet", object: set, events: [said] };

  const { headline, advice } = explain(facts as Facts);

  assert.match(
    headline,
    /^StatefulSet db cannot .* refuses its claim data-db-0: persistentvolumeclaims "data-db-0" is/,
  );
  assert.match(advice.join(), /asks for more than the quota q allows in all: 10Gi requests\.storage of 5Gi/);
});
