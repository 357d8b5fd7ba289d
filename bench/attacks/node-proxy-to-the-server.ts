import type { Attack } from "./attack.ts";

/** A Node claims the API server's address for its kubelet, and somebody with nodes/proxy reads secrets through it. */
export const attack: Attack = {
  name: "nodes/proxy back to the API server",
  claim: "refused: a node must show its own certificate, and the kubelet client has no rights",
  needs: "server",

  async prepare({ ask, url, token }) {
    const admin = (method: string, path: string, body: object) => ask({ as: "admin", method, path, body });
    const subjects = [{ kind: "User", apiGroup: "rbac.authorization.k8s.io", name: userOf(token) }];
    const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name };
    const rules = [{ verbs: ["get"], apiGroups: [""], resources: ["nodes/proxy"], resourceNames: [name] }];
    await admin("POST", `${rbac}/clusterroles`, { metadata: { name }, rules });
    await admin("POST", `${rbac}/clusterrolebindings`, { metadata: { name }, roleRef, subjects });
    await admin("POST", "/api/v1/nodes", { metadata: { name }, spec: { unschedulable: true } });
    const { hostname, port } = new URL(url);
    const status = {
      addresses: [{ type: "InternalIP", address: hostname }],
      daemonEndpoints: { kubeletEndpoint: { Port: Number(port) } },
    };
    const path = `/api/v1/nodes/${name}/status`;
    await ask({ as: "admin", method: "PATCH", path, body: { status }, type: "application/merge-patch+json" });
  },

  async run({ ask, victimNamespace }, signal) {
    let refused = 0;
    while (!signal.aborted) {
      const path = `/api/v1/nodes/${name}/proxy/api/v1/namespaces/${victimNamespace}/secrets`;
      const { status, text } = await ask({ path });
      if (status === 200) throw new Error(`secrets were read: ${text.slice(0, 100)}`);
      refused++;
    }
    return `${refused} refused`;
  },

  async cleanUp({ ask }) {
    await ask({ as: "admin", method: "DELETE", path: `/api/v1/nodes/${name}` });
    await ask({ as: "admin", method: "DELETE", path: `${rbac}/clusterrolebindings/${name}` });
    await ask({ as: "admin", method: "DELETE", path: `${rbac}/clusterroles/${name}` });
  },
};

const name = "attack-mirror";
const rbac = "/apis/rbac.authorization.k8s.io/v1";

const userOf = (token: string): string =>
  String(JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString()).sub);
