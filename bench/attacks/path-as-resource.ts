import type { Attack } from "./attack.ts";

/** Somebody who may get any path asks about one that is spelled like a resource, and then for the resource. */
export const attack: Attack = {
  name: "a path spelled like a resource",
  claim: "403: different requests never share a cached decision",
  needs: "server",

  async prepare({ ask, token }) {
    const rules = [{ verbs: ["get", "list"], nonResourceURLs: ["*"] }];
    const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name };
    const subjects = [{ kind: "User", apiGroup: "rbac.authorization.k8s.io", name: userOf(token) }];
    await ask({ as: "admin", method: "POST", path: `${rbac}/clusterroles`, body: { metadata: { name }, rules } });
    const body = { metadata: { name }, roleRef, subjects };
    await ask({ as: "admin", method: "POST", path: `${rbac}/clusterrolebindings`, body });
  },

  async run({ ask, victimNamespace }, signal) {
    let refused = 0;
    while (!signal.aborted) {
      for (const path of spellings(victimNamespace)) {
        // An access review uses the same authorizer, and may hold any text.
        const spec = { nonResourceAttributes: { verb: "list", path } };
        const { text } = await ask({ method: "POST", path: reviews, body: { spec } });
        if (!text.includes('"allowed":true')) throw new Error(`the path is not allowed: ${text.slice(0, 200)}`);
      }
      const { status } = await ask({ path: `/api/v1/namespaces/${victimNamespace}/secrets` });
      if (status !== 403) throw new Error(`secrets of another namespace were answered with ${status}`);
      refused++;
    }
    return `${refused} refused with 403`;
  },

  async cleanUp({ ask }) {
    await ask({ as: "admin", method: "DELETE", path: `${rbac}/clusterrolebindings/${name}` });
    await ask({ as: "admin", method: "DELETE", path: `${rbac}/clusterroles/${name}` });
  },
};

const name = "attack-any-path";
const rbac = "/apis/rbac.authorization.k8s.io/v1";
const reviews = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";

/** Paths as they would look in a cache key that joins the parts with spaces, slashes or lengths. */
const spellings = (namespace: string): string[] => [
  `/secrets/ ${namespace}`,
  `//secrets/${namespace}`,
  `4,0,7 listsecrets`,
  `,0,7 listsecrets${namespace}`,
];

const userOf = (token: string): string =>
  String(JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString()).sub);
