import { ConfigMap } from "#api/core/config-map.ts";
import { Secret } from "#api/core/secret.ts";
import { ServiceAccount } from "#api/core/service-account.ts";
import { ClusterRole } from "#api/rbac/cluster-role.ts";
import { legacyTokenTracking } from "#api/well-known.ts";
import { type Ordeal, type Place } from "#testing/chaos/ordeal.ts";

const base64 = (text: string): string => Buffer.from(text).toString("base64");
const tokenType = "kubernetes.io/service-account-token";
const nameKey = "kubernetes.io/service-account.name";
const info = { namespace: "kube-public", name: "cluster-info" };

const bootstrapToken = (at: Place, id: string, lifeMs: number) =>
  at.create(Secret, {
    metadata: { namespace: "kube-system", name: `bootstrap-token-${id}` },
    type: "bootstrap.kubernetes.io/token",
    data: {
      "token-id": base64(id),
      "token-secret": base64("0123456789abcdef"),
      "usage-bootstrap-signing": base64("true"),
      expiration: base64(new Date(at.cluster.clock.now() + lifeMs).toISOString()),
    },
  });

const rule = (resource: string) => ({ apiGroups: [""], resources: [resource], verbs: ["get"] });
const part = (at: Place, resource: string) =>
  at.create(ClusterRole, {
    metadata: { name: `${at.namespace}-${resource}`, labels: { to: at.namespace } },
    rules: [rule(resource)],
  });
const token = (at: Place, name: string, account: string, more: Record<string, string> = {}) =>
  at.create(Secret, {
    metadata: { ...at.ref(name), annotations: { [nameKey]: account }, labels: more },
    type: tokenType,
  });

export const identities: readonly Ordeal[] = [
  {
    name: "a namespace has its account and its certificates, also after a user took them away",
    controllers: ["serviceaccount-controller", "root-ca-certificate-publisher-controller"],
    rounds: [
      (at) => at.cluster.client.delete(ServiceAccount, at.ref("default")),
      (at) => at.apply(ConfigMap, { metadata: at.ref("kube-root-ca.crt"), data: { "ca.crt": "wrong" } }),
    ],
    async ends(at) {
      const accounts = (await at.list(ServiceAccount)).map(({ metadata }) => metadata.name);
      const maps = (await at.list(ConfigMap)).map(({ data }) => data?.["ca.crt"]?.slice(0, 27));
      return [
        [accounts, maps],
        [["default"], ["-----BEGIN CERTIFICATE-----"]],
      ];
    },
  },
  {
    name: "the tokens of an account are filled in, and go with it",
    controllers: ["serviceaccount-token-controller"],
    rounds: [
      async (at) => {
        for (const name of ["stays", "leaves"]) {
          await at.create(ServiceAccount, { metadata: at.ref(name) });
          await token(at, name, name);
        }
      },
      (at) => at.cluster.client.delete(ServiceAccount, at.ref("leaves")),
    ],
    async ends(at) {
      const secrets = (await at.list(Secret)).map(({ metadata, data }) => [metadata.name, data?.token]);
      return [secrets, [["stays", base64("token")]]];
    },
  },
  {
    name: "a generated token that nobody uses goes, and one that a user made stays",
    controllers: ["legacy-serviceaccount-token-cleaner-controller"],
    rounds: [
      async (at) => {
        await at.cluster.apply(ConfigMap, { metadata: { ...legacyTokenTracking }, data: { since: "2025-11-01" } });
        await at.create(ServiceAccount, { metadata: at.ref("old"), secrets: [{ name: "generated" }] });
        const invalid = { "kubernetes.io/legacy-token-invalid-since": "2025-12-01" };
        await token(at, "generated", "old", invalid);
        await token(at, "own", "old", invalid);
      },
      async () => undefined,
      async () => undefined,
      async (at) => {
        for (const name of ["generated", "own"]) {
          const body = { metadata: { annotations: { touched: "yes" } } };
          await at.cluster.client.patch(Secret, at.ref(name), { type: "merge", body }).catch(() => undefined);
        }
      },
    ],
    ends: async (at) => [(await at.list(Secret)).map(({ metadata }) => metadata.name), ["own"]],
  },
  {
    name: "an aggregated role has exactly the rules of its parts",
    controllers: ["clusterrole-aggregation-controller"],
    rounds: [
      async (at) => {
        const aggregationRule = { clusterRoleSelectors: [{ matchLabels: { to: at.namespace } }] };
        await at.create(ClusterRole, { metadata: { name: at.namespace }, aggregationRule });
        await part(at, "pods");
      },
      (at) => part(at, "nodes"),
      (at) => at.cluster.client.delete(ClusterRole, { name: `${at.namespace}-pods` }),
    ],
    async ends(at) {
      const { rules } = await at.cluster.client.get(ClusterRole, { name: at.namespace });
      return [rules, [rule("nodes")]];
    },
  },
  {
    name: "tokens sign the cluster's information until they expire",
    controllers: ["bootstrap-signer-controller", "token-cleaner-controller"],
    rounds: [
      async (at) => {
        await at.create(ConfigMap, { metadata: info, data: { kubeconfig: "server: a" } });
        await bootstrapToken(at, "aaaaaa", 1_500_000);
        await bootstrapToken(at, "bbbbbb", 86_400_000);
      },
    ],
    async ends(at) {
      const { data = {} } = await at.cluster.client.get(ConfigMap, info);
      const tokens = (await at.cluster.list(Secret, "kube-system")).filter(({ type }) => type?.startsWith("bootstrap"));
      return [
        [Object.keys(data).sort(), tokens.map(({ metadata }) => metadata.name)],
        [["jws-kubeconfig-bbbbbb", "kubeconfig"], ["bootstrap-token-bbbbbb"]],
      ];
    },
  },
];
