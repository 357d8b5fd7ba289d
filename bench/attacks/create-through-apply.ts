import { Agent, request } from "node:https";
import type { Attack, AttackTarget } from "./attack.ts";

/** A user who may change pods and leases, but not create any, tries to create them with PUT and apply. */
export const attack: Attack = {
  name: "create through apply and PUT",
  claim: "403: a write that creates needs the right to create",
  needs: "server",

  async prepare({ ask, namespace }) {
    const rules = [
      { verbs: ["get", "patch"], apiGroups: [""], resources: ["pods"] },
      { verbs: ["update"], apiGroups: ["coordination.k8s.io"], resources: ["leases"] },
    ];
    const rbac = `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}`;
    const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: account };
    const subjects = [{ kind: "ServiceAccount", name: account, namespace }];
    const make = (path: string, body: object) => ask({ as: "admin", method: "POST", path, body });
    const metadata = { name: account };
    await make(`/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata });
    await make(`${rbac}/roles`, { metadata, rules });
    await make(`${rbac}/rolebindings`, { metadata, roleRef, subjects });
  },

  async run(target, signal) {
    const { ask, namespace } = target;
    const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${account}/token`;
    const { text } = await ask({ as: "admin", method: "POST", path, body: { spec: {} } });
    const token = String(JSON.parse(text).status.token);
    let refused = 0;
    while (!signal.aborted) {
      for (const send of [apply, put]) {
        const status = await send(target, token);
        if (status !== 403) throw new Error(`${send.name} was answered with ${status}`);
        refused++;
      }
    }
    return `${refused} refused with 403`;
  },
};

const account = "changes-only";

const apply = (target: AttackTarget, token: string): Promise<number> =>
  sent(target, {
    method: "PATCH",
    path: `/api/v1/namespaces/${target.namespace}/pods/root?fieldManager=x`,
    type: "application/apply-patch+yaml",
    token,
    body: {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "root" },
      spec: {
        containers: [{ name: "a", image: "orlop.dev/busybox:1", securityContext: { privileged: true } }],
        volumes: [{ name: "host", hostPath: { path: "/" } }],
      },
    },
  });

const put = (target: AttackTarget, token: string): Promise<number> =>
  sent(target, {
    method: "PUT",
    path: `/apis/coordination.k8s.io/v1/namespaces/${target.namespace}/leases/mine`,
    type: "application/json",
    token,
    body: { metadata: { name: "mine" }, spec: {} },
  });

const agent = new Agent({ keepAlive: true });

const sent = (
  { url, ca }: AttackTarget,
  { method, path, type, token, body }: { method: string; path: string; type: string; token: string; body: object },
): Promise<number> =>
  new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}`, "content-type": type };
    const outgoing = request(new URL(path, url), { method, ca, headers, agent }, (answer) => {
      answer.resume().once("end", () => resolve(answer.statusCode ?? 0));
    });
    outgoing.once("error", reject).end(JSON.stringify(body));
  });
