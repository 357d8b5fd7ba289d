import type { Attack } from "./attack.ts";

/** An administrator of one namespace creates roles whose rules expand to 40 million combinations. */
export const attack: Attack = {
  name: "a role of 40 million combinations",
  claim: "403 after a bounded comparison",
  needs: "server",

  async prepare({ ask, namespace, token }) {
    const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "admin" };
    const subjects = [{ kind: "User", apiGroup: "rbac.authorization.k8s.io", name: userOf(token) }];
    const path = `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}/rolebindings`;
    await ask({ as: "admin", method: "POST", path, body: { metadata: { name: "attack-admin" }, roleRef, subjects } });
  },

  async run({ ask, namespace }, signal) {
    const path = `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}/roles`;
    const many = (prefix: string) => Array.from({ length: 80 }, (_, at) => `${prefix}${at}`);
    const strange = { verbs: many("v"), apiGroups: many("g"), resources: many("r"), resourceNames: many("n") };
    // The user holds these verbs, so every dimension has to be compared.
    const familiar = { ...strange, verbs: ["get", "list", "watch", "create", "update", "patch", "delete"] };
    let refused = 0;
    while (!signal.aborted) {
      const rules = [refused % 2 === 0 ? strange : familiar];
      const { status } = await ask({ method: "POST", path, body: { metadata: { generateName: "x-" }, rules } });
      if (status !== 403) throw new Error(`the role was answered with ${status}`);
      refused++;
    }
    return `${refused} refused with 403`;
  },
};

const userOf = (token: string): string =>
  String(JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString()).sub);
