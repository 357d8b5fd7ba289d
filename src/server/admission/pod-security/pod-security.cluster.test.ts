import assert from "node:assert/strict";
import { test } from "node:test";
import { Deployment } from "#api/apps/deployment.ts";
import { Event } from "#api/core/event.ts";
import { Namespace } from "#api/core/namespace.ts";
import { Pod } from "#api/core/pod.ts";
import { startCluster } from "#testing/start-cluster.ts";

test("a restricted namespace refuses pods, also those of its Deployments, and lets sound ones run", async () => {
  await using cluster = await startCluster({ nodes: 1 });
  const { client } = cluster;
  const labels = { "pod-security.kubernetes.io/enforce": "restricted" };
  const namespace = "strict";
  await client.create(Namespace, { metadata: { name: namespace, labels } });
  await cluster.settle();

  const bare = { containers: [{ name: "c", image: "a:1" }] };
  const sound = {
    securityContext: { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" as const } },
    containers: [
      {
        name: "c",
        image: "a:1",
        securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } },
      },
    ],
  };
  const why = [
    'violates PodSecurity "restricted:latest"',
    'allowPrivilegeEscalation != false (container "c" must set securityContext.allowPrivilegeEscalation=false), unrestricted capabilities (container "c" must set securityContext.capabilities.drop=["ALL"]), runAsNonRoot != true (pod or container "c" must set securityContext.runAsNonRoot=true), seccompProfile (pod or container "c" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")',
  ].join(": ");
  await assert.rejects(client.create(Pod, { metadata: { name: "bare", namespace }, spec: bare }), {
    code: 403,
    message: `pods "bare" is forbidden: ${why}`,
  });

  const app = { app: "web" };
  await client.create(Deployment, {
    metadata: { name: "web", namespace },
    spec: { selector: { matchLabels: app }, template: { metadata: { labels: app }, spec: bare } },
  });
  await client.create(Pod, { metadata: { name: "sound", namespace }, spec: sound });
  await cluster.settle();
  const pods = await cluster.list(Pod);
  assert.deepEqual(
    pods.filter(({ metadata }) => metadata.namespace === namespace).map(({ metadata }) => metadata.name),
    ["sound"],
  );
  const events = await cluster.list(Event);
  assert(events.some(({ reason, message = "" }) => reason === "FailedCreate" && message.includes(why)));
});
