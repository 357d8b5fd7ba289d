import assert from "node:assert/strict";
import { test } from "node:test";
import { Namespace } from "#api/core/namespace.ts";
import { Pod } from "#api/core/pod.ts";
import { ServiceAccount } from "#api/core/service-account.ts";
import { type InputOf } from "#api/resource.ts";
import { admitPod, podWith, requestFor, setUp } from "./admission.suite.ts";

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

test("an existing mount at the token's path is kept", async () => {
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

test("a pod waits for the default account of a new namespace", async () => {
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

test("a mirror pod may not reference API objects", async () => {
  const mirror = { annotations: { "kubernetes.io/config.mirror": "x" } };
  const refused = (spec: InputOf<Pod>["spec"], why: string) =>
    assert.rejects(admitPod(podWith(spec, mirror)), { message: `pods "web" is forbidden: ${why}` });

  assert.equal((await admitPod(podWith({}, mirror))).serviceAccountName, undefined);
  await refused({ serviceAccountName: "default" }, "a mirror pod may not reference service accounts");
  await refused({ imagePullSecrets: [{ name: "x" }] }, "a mirror pod may not reference secrets");
});
