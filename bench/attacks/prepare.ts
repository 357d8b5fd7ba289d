import { setTimeout as sleep } from "node:timers/promises";
import { type Answer, type AttackTarget, type Question } from "./attack.ts";

const image = "orlop.dev/busybox:1";

/** Creates somebody else's namespace, with a Service and a pod behind it, if it does not exist. */
export async function makeVictim(admin: AttackTarget, namespace: string): Promise<void> {
  const found = await admin.ask({ as: "admin", path: `/api/v1/namespaces/${namespace}` });
  if (found.status === 200) return;
  await makeNamespace(admin, namespace);
  const labels = { app: "victim" };
  const command = ["sh", "-c", "mkdir /www && echo hello > /www/index.html && httpd -f -p 8080 -h /www"];
  await create(admin, `/api/v1/namespaces/${namespace}/pods`, {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "victim", labels },
    spec: { containers: [{ name: "web", image, command }], terminationGracePeriodSeconds: 0 },
  });
  await create(admin, `/api/v1/namespaces/${namespace}/services`, {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "victim" },
    spec: { selector: labels, ports: [{ port: 80, targetPort: 8080 }] },
  });
  await create(admin, `/api/v1/namespaces/${namespace}/secrets`, {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "secret" },
    stringData: { word: "victims-word" },
  });
}

/** The attacker's namespace, and a token of a service account with the ClusterRole `edit` in it. */
export async function openAttackersNamespace(admin: AttackTarget, namespace: string): Promise<string> {
  await makeNamespace(admin, namespace);
  const accounts = `/api/v1/namespaces/${namespace}/serviceaccounts`;
  await create(admin, accounts, { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "attacker" } });
  await create(admin, `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}/rolebindings`, {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "RoleBinding",
    metadata: { name: "attacker" },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "edit" },
    subjects: [{ kind: "ServiceAccount", name: "attacker", namespace }],
  });
  const request = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: { expirationSeconds: 7200 } };
  const { text } = await create(admin, `${accounts}/attacker/token`, request);
  const { status } = JSON.parse(text) as { status: { token: string } };
  return status.token;
}

async function makeNamespace(admin: AttackTarget, name: string): Promise<void> {
  await create(admin, "/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name } });
  const path = `/api/v1/namespaces/${name}/serviceaccounts/default`;
  for (let attempt = 0; attempt < 200; attempt++) {
    if ((await admin.ask({ as: "admin", path })).status === 200) return;
    await sleep(50);
  }
  throw new Error(`namespace ${name} got no service account`);
}

async function create(admin: AttackTarget, path: string, body: Question["body"]): Promise<Answer> {
  const answer = await admin.ask({ as: "admin", path, body });
  if (answer.status >= 300) throw new Error(`POST ${path}: ${answer.status} ${answer.text.slice(0, 300)}`);
  return answer;
}
