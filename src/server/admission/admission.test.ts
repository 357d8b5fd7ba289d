import assert from "node:assert/strict";
import { test } from "node:test";
import { TokenRequest } from "#api/authentication/token-request.ts";
import { Namespace } from "#api/core/namespace.ts";
import { Node } from "#api/core/node.ts";
import { Pod } from "#api/core/pod.ts";
import { ServiceAccount } from "#api/core/service-account.ts";
import { type ApiObject, type InputOf, type Resource } from "#api/resource.ts";
import { notFound } from "#api/status.ts";
import { type Client, type ObjectRef, refOf } from "#client/client.ts";
import { seededRandom } from "#lib/random.ts";
import { createFakeInformers } from "#testing/fake-informers.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { builtInAdmission } from "./all.ts";
import { createAdmission } from "./chain.ts";
import { type AdmissionPlugin, type AdmissionRequest } from "./plugin.ts";

const jane = { name: "jane", groups: [] };
const nodeA = { name: "system:node:a", groups: ["system:nodes"] };

function setUp(part: { client?: Pick<Client, "get"> } = {}) {
  const informers = createFakeInformers();
  const clock = createVirtualClock();
  const rbac = { rulesFor: () => ({ rules: [], faults: [] }), rulesOfRole: () => [] };
  const deps = { informers, clock, random: seededRandom(1), rbac, authorizers: [], ...part };
  const admission = createAdmission(builtInAdmission(deps));
  informers.put(Namespace, { metadata: { name: "shop" }, status: { phase: "Active" } });
  informers.put(Namespace, { metadata: { name: "kube-node-lease" }, status: { phase: "Active" } });
  informers.put(ServiceAccount, { metadata: { name: "default", namespace: "shop" } });
  informers.put(Node, { metadata: { name: "a", uid: "node-1" }, spec: {} });
  const admit = async (request: AdmissionRequest) => {
    if (request.operation !== "DELETE") await admission.mutate(request);
    await admission.validate(request);
    return request.object;
  };
  return { informers, clock, admit };
}

const requestFor = <T extends ApiObject>(
  resource: Resource<T>,
  object: InputOf<T> | undefined,
  part: Partial<AdmissionRequest> = {},
): AdmissionRequest => ({
  operation: "CREATE",
  resource,
  subresource: "",
  namespace: resource.scope === "Namespaced" ? "shop" : "",
  name: object?.metadata?.name ?? "",
  object: object as ApiObject | undefined,
  oldObject: undefined,
  user: jane,
  dryRun: false,
  signal: new AbortController().signal,
  warn() {},
  ...part,
});
const podWith = (spec: InputOf<Pod>["spec"] = {}, metadata: InputOf<Pod>["metadata"] = {}): InputOf<Pod> => ({
  metadata: { name: "web", namespace: "shop", ...metadata },
  spec: { containers: [{ name: "c" }], ...spec },
});
const admitPod = async (pod: InputOf<Pod>, part: Partial<AdmissionRequest> = {}, { admit } = setUp()) => {
  await admit(requestFor(Pod, pod, part));
  assert(pod.spec);
  return pod.spec;
};

test("createAdmission() asks in order, only those who apply, and waits for those who take time", async () => {
  const asked: string[] = [];
  const plugin = (name: string, wait: boolean, applies = true): AdmissionPlugin => ({
    name,
    appliesTo: () => applies,
    mutate() {
      asked.push(name);
      return wait ? Promise.resolve() : undefined;
    },
  });
  const admission = createAdmission([
    plugin("a", false),
    plugin("b", true),
    plugin("c", false, false),
    plugin("d", false),
  ]);

  await admission.mutate(requestFor(Pod, podWith()));
  assert.deepEqual(asked, ["a", "b", "d"]);
  assert.equal(admission.validate(requestFor(Pod, podWith())), undefined);
});

test("an object in a namespace that does not exist is refused", async () => {
  const { admit } = setUp();

  await assert.rejects(admit(requestFor(Pod, podWith(), { namespace: "x" })), {
    code: 404,
    message: 'namespaces "x" not found',
  });
});

test("a namespace that the cache has not seen yet is looked up", async () => {
  const found = { metadata: { name: "new" }, status: { phase: "Active" } };
  const client: Pick<Client, "get"> = {
    get: async <T extends ApiObject>(resource: Resource<T>, ref: ObjectRef) => {
      const { name } = refOf(ref);
      if (resource.kind === "Namespace" && name === "new") return found as unknown as T;
      throw notFound(resource, name);
    },
  };
  const { admit } = setUp({ client });

  await admit(requestFor(ServiceAccount, { metadata: { name: "sa" } }, { namespace: "new" }));
  await assert.rejects(admit(requestFor(ServiceAccount, { metadata: { name: "sa" } }, { namespace: "gone" })), {
    message: 'namespaces "gone" not found',
  });
});

test("a terminating namespace takes nothing new but lets the old be changed", async () => {
  const { admit, informers } = setUp();
  informers.put(Namespace, { metadata: { name: "shop" }, status: { phase: "Terminating" } });
  const account = { metadata: { name: "sa" } };

  await assert.rejects(admit(requestFor(ServiceAccount, account)), {
    code: 403,
    message:
      'serviceaccounts "sa" is forbidden: unable to create new content in namespace shop because it is being terminated',
    details: {
      name: "sa",
      kind: "serviceaccounts",
      causes: [
        {
          reason: "NamespaceTerminating",
          message: "namespace shop is being terminated",
          field: "metadata.namespace",
        },
      ],
    },
  });
  await admit(requestFor(ServiceAccount, account, { operation: "UPDATE", oldObject: account }));
});

test("system namespaces cannot be deleted", async () => {
  const { admit } = setUp();
  const remove = (name: string) => admit(requestFor(Namespace, undefined, { operation: "DELETE", name }));

  for (const name of ["default", "kube-system", "kube-public", "kube-node-lease"]) {
    await assert.rejects(remove(name), {
      message: `namespaces "${name}" is forbidden: this namespace may not be deleted`,
    });
  }
  await remove("shop");
});

test("a pod gets its service account, a token, tolerations and a priority", async () => {
  const spec = await admitPod(podWith());
  const [volume] = spec.volumes ?? [];

  assert.equal(spec.serviceAccountName, "default");
  assert.equal(spec.serviceAccount, "default");
  assert.match(volume?.name ?? "", /^kube-api-access-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
  assert.deepEqual(volume?.projected, {
    sources: [
      { serviceAccountToken: { expirationSeconds: 3607, path: "token" } },
      { configMap: { name: "kube-root-ca.crt", items: [{ key: "ca.crt", path: "ca.crt" }] } },
      {
        downwardAPI: {
          items: [{ path: "namespace", fieldRef: { apiVersion: "v1", fieldPath: "metadata.namespace" } }],
        },
      },
    ],
    defaultMode: 0o644,
  });
  assert.deepEqual(spec.containers?.[0]?.volumeMounts, [
    { name: volume?.name, readOnly: true, mountPath: "/var/run/secrets/kubernetes.io/serviceaccount" },
  ]);
  assert.deepEqual(spec.tolerations, [
    { key: "node.kubernetes.io/not-ready", operator: "Exists", effect: "NoExecute", tolerationSeconds: 300 },
    { key: "node.kubernetes.io/unreachable", operator: "Exists", effect: "NoExecute", tolerationSeconds: 300 },
  ]);
  assert.equal(spec.priority, 0);
  assert.equal(spec.preemptionPolicy, "PreemptLowerPriority");
});

test("a pod or its account can do without the token", async () => {
  const { informers, admit } = setUp();
  const metadata = { name: "quiet", namespace: "shop" };
  informers.put(ServiceAccount, {
    metadata,
    automountServiceAccountToken: false,
    imagePullSecrets: [{ name: "pull" }],
  });

  const own = await admitPod(podWith({ automountServiceAccountToken: false }));
  const quiet = podWith({ serviceAccountName: "quiet" });
  await admit(requestFor(Pod, quiet));

  assert.equal(own.volumes, undefined);
  assert.equal(quiet.spec?.volumes, undefined);
  assert.deepEqual(quiet.spec?.imagePullSecrets, [{ name: "pull" }]);
});

test("a mount at the token's place is kept", async () => {
  const mine = { name: "mine", mountPath: "/var/run/secrets/kubernetes.io/serviceaccount" };
  const spec = await admitPod(podWith({ containers: [{ name: "c", volumeMounts: [mine] }] }));

  assert.deepEqual(spec.containers?.[0]?.volumeMounts, [mine]);
  assert.equal(spec.volumes, undefined);
});

test("a service account that does not exist is named in the refusal", async () => {
  await assert.rejects(admitPod(podWith({ serviceAccountName: "ghost" })), {
    code: 403,
    message: 'pods "web" is forbidden: error looking up service account shop/ghost: serviceaccount "ghost" not found',
  });
});

test("the default account of a new namespace is waited for", async () => {
  const { informers, clock, admit } = setUp();
  informers.put(Namespace, { metadata: { name: "new" }, status: { phase: "Active" } });
  const pod = podWith();
  const admitted = admit(requestFor(Pod, pod, { namespace: "new" }));
  await clock.advance(500);
  informers.put(ServiceAccount, { metadata: { name: "default", namespace: "new" } });
  await admitted;

  assert.equal(pod.spec?.serviceAccountName, "default");
  informers.put(Namespace, { metadata: { name: "bare" }, status: { phase: "Active" } });
  const refused = assert.rejects(admit(requestFor(Pod, podWith(), { namespace: "bare" })), /"default" not found/);
  await clock.advance(2000);
  await refused;
});

test("a mirror pod can need nothing from the API", async () => {
  const mirror = { annotations: { "kubernetes.io/config.mirror": "x" } };
  const refused = (spec: InputOf<Pod>["spec"], why: string) =>
    assert.rejects(admitPod(podWith(spec, mirror)), { message: `pods "web" is forbidden: ${why}` });

  assert.equal((await admitPod(podWith({}, mirror))).serviceAccountName, undefined);
  await refused({ serviceAccountName: "default" }, "a mirror pod may not reference service accounts");
  await refused({ imagePullSecrets: [{ name: "x" }] }, "a mirror pod may not reference secrets");
});

test("an account can keep its pods to the secrets that it names", async () => {
  const set = setUp();
  const annotations = { "kubernetes.io/enforce-mountable-secrets": "true" };
  set.informers.put(ServiceAccount, {
    metadata: { name: "strict", namespace: "shop", annotations },
    secrets: [{ name: "ok" }],
  });
  const using = (secretName: string) =>
    podWith({ serviceAccountName: "strict", volumes: [{ name: "v", secret: { secretName } }] });

  await admitPod(using("ok"), {}, set);
  await assert.rejects(admitPod(using("other"), {}, set), {
    message:
      'pods "web" is forbidden: volume with secret.secretName="other" is not allowed because service account strict does not reference that secret',
  });
});

test("a priority class becomes a number", async () => {
  assert.equal((await admitPod(podWith({ priorityClassName: "system-node-critical" }))).priority, 2_000_001_000);
  await assert.rejects(admitPod(podWith({ priorityClassName: "x" })), {
    message: 'pods "web" is forbidden: no PriorityClass with name x was found',
  });
  await assert.rejects(admitPod(podWith({ priority: 7 })), /the integer value of priority \(7\) must not be provided/);
});

test("a pod's own tolerations are kept", async () => {
  assert.equal((await admitPod(podWith({ tolerations: [{ operator: "Exists" }] }))).tolerations?.length, 1);
  const own = { key: "node.kubernetes.io/not-ready", effect: "NoExecute" as const, operator: "Exists" };
  assert.equal((await admitPod(podWith({ tolerations: [own] }))).tolerations?.length, 2);
});

test("a new node is tainted until it is ready", async () => {
  const { admit } = setUp();
  const node: InputOf<Node> = { metadata: { name: "a" }, spec: {} };
  await admit(requestFor(Node, node));

  assert.deepEqual(node.spec?.taints, [{ key: "node.kubernetes.io/not-ready", effect: "NoSchedule" }]);
});

const nodeCases: { name: string; request: AdmissionRequest; refused?: string }[] = [
  { name: "register itself", request: requestFor(Node, { metadata: { name: "a" }, spec: {} }) },
  {
    name: "register another node",
    request: requestFor(Node, { metadata: { name: "b" }, spec: {} }),
    refused: 'nodes "b" is forbidden: node "a" is not allowed to modify node "b"',
  },
  {
    name: "set labels that draw pods",
    request: requestFor(Node, {
      metadata: {
        name: "a",
        labels: { "kubernetes.io/os": "linux", "node-restriction.kubernetes.io/x": "y", "k8s.io/z": "" },
      },
      spec: {},
    }),
    refused:
      'nodes "a" is forbidden: node "a" is not allowed to set the following labels: k8s.io/z, node-restriction.kubernetes.io/x',
  },
  {
    name: "remove its taints",
    request: requestFor(
      Node,
      { metadata: { name: "a" }, spec: {} },
      {
        operation: "UPDATE",
        oldObject: { metadata: { name: "a" }, spec: { taints: [{ key: "x", effect: "NoSchedule" }] } } as ApiObject,
      },
    ),
    refused: 'nodes "a" is forbidden: node "a" is not allowed to modify taints',
  },
  {
    name: "create an ordinary pod",
    request: requestFor(Pod, podWith({ nodeName: "a" })),
    refused:
      'pods "web" is forbidden: pod does not have "kubernetes.io/config.mirror" annotation, node "a" can only create mirror pods',
  },
  {
    name: "create its mirror pod",
    request: requestFor(
      Pod,
      podWith(
        { nodeName: "a" },
        {
          annotations: { "kubernetes.io/config.mirror": "x" },
          ownerReferences: [{ apiVersion: "v1", kind: "Node", name: "a", uid: "node-1", controller: true }],
        },
      ),
    ),
  },
  {
    name: "create a mirror pod that nobody owns",
    request: requestFor(Pod, podWith({ nodeName: "a" }, { annotations: { "kubernetes.io/config.mirror": "x" } })),
    refused: 'pods "web" is forbidden: node "a" can only create pods with an owner reference set to itself',
  },
  {
    name: "delete a pod of another node",
    request: requestFor(Pod, undefined, { operation: "DELETE", name: "theirs" }),
    refused: 'pods "theirs" is forbidden: node "a" can only delete pods with spec.nodeName set to itself',
  },
  { name: "delete its pod", request: requestFor(Pod, undefined, { operation: "DELETE", name: "mine" }) },
  {
    name: "get a token that is bound to nothing",
    request: requestFor(ServiceAccount, undefined, {
      name: "default",
      subresource: "token",
      object: { kind: "TokenRequest", metadata: {}, spec: { audiences: [] } } as ApiObject,
    }),
    refused: 'serviceaccounts "default" is forbidden: node requested token not bound to a pod',
  },
];
for (const { name, request, refused } of nodeCases) {
  test(`a node ${refused ? "may not" : "may"} ${name}`, async () => {
    const { admit, informers } = setUp();
    informers.put(Pod, { metadata: { name: "mine", namespace: "shop" }, spec: { containers: [], nodeName: "a" } });
    informers.put(Pod, { metadata: { name: "theirs", namespace: "shop" }, spec: { containers: [], nodeName: "b" } });
    const admitted = admit({ ...request, user: nodeA });

    if (refused) await assert.rejects(admitted, { code: 403, message: refused });
    else await admitted;
  });
}

test("a node gets tokens for the audiences of its pods' volumes only", async () => {
  const { admit, informers } = setUp();
  const sources = [{ serviceAccountToken: { path: "t", audience: "vault" } }];
  const pod = informers.put(Pod, {
    metadata: { name: "mine", namespace: "shop", uid: "pod-1" },
    spec: { containers: [], nodeName: "a", volumes: [{ name: "v", projected: { sources } }] },
  });
  const ask = (audience: string) =>
    admit(
      requestFor(ServiceAccount, undefined, {
        name: "default",
        subresource: "token",
        user: nodeA,
        object: {
          kind: TokenRequest.kind,
          metadata: {},
          spec: {
            audiences: [audience],
            boundObjectRef: { kind: "Pod", apiVersion: "v1", name: "mine", uid: pod.metadata.uid },
          },
        } as ApiObject,
      }),
    );

  await ask("vault");
  await assert.rejects(ask("bank"), {
    message:
      'serviceaccounts "default" is forbidden: audience "bank" not found in pod spec volume, system:node:a is not authorized to request tokens for this audience',
  });
});
