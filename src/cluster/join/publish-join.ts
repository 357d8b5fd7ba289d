import { ConfigMap } from "#api/core/config-map.ts";
import { ClusterRole } from "#api/rbac/cluster-role.ts";
import { ClusterRoleBinding } from "#api/rbac/cluster-role-binding.ts";
import { type PolicyRule } from "#api/rbac/policy-rule.ts";
import { Role } from "#api/rbac/role.ts";
import { RoleBinding } from "#api/rbac/role-binding.ts";
import { type ApiObject, type InputOf, type Resource } from "#api/resource.ts";
import { nodeServicesGroup } from "#api/well-known.ts";
import { type Client } from "#client/client.ts";
import { ensureObject } from "#client/ensure-object.ts";
import { dnsConfigName } from "#dns/dns-config.ts";
import { renderClusterInfo } from "./cluster-info.ts";
import { type NetworkFacts, networkConfigName, renderNetworkFacts } from "./network-facts.ts";
import { joinTokenGroup } from "./node-identity.ts";

export interface JoinPlace {
  /** `https://10.0.0.1:6443`: where other machines reach the API server. */
  readonly server: string;
  /** PEM. */
  readonly certificateAuthority: string;
  readonly network: NetworkFacts;
}

/** Publishes what a machine needs to join: who the cluster is, how its network is laid out, and which rights tokens and nodes have. */
export async function publishJoin(client: Client, place: JoinPlace): Promise<void> {
  await Promise.all([
    ...clusterRoles.map((role) => ensure(client, ClusterRole, role, ({ rules }) => ({ rules }))),
    ...roles.map((role) => ensure(client, Role, role, ({ rules }) => ({ rules }))),
    ...clusterBindings().map((binding) => ensure(client, ClusterRoleBinding, binding, () => ({}))),
    ...bindings().map((binding) => ensure(client, RoleBinding, binding, () => ({}))),
    publishClusterInfo(client, place),
    ensure(client, ConfigMap, networkConfig(place.network), ({ data = {} }) => ({ data })),
  ]);
}

const nodes = "system:nodes";
const certificates = "certificates.k8s.io";
const requests = "certificatesigningrequests";
const rbac = "rbac.authorization.k8s.io";

const rule = (verbs: string[], group: string, ...resources: string[]): PolicyRule => ({
  verbs,
  apiGroups: [group],
  resources,
});

/** What the approving controller asks about; see `planApproval`. */
const clusterRoles: readonly InputOf<ClusterRole>[] = [
  {
    metadata: { name: "orlop:selfnodeserver" },
    rules: [rule(["create"], certificates, `${requests}/selfnodeserver`)],
  },
  { metadata: { name: "orlop:nodeservices" }, rules: [rule(["create"], certificates, `${requests}/nodeservices`)] },
  {
    metadata: { name: "orlop:node-approver" },
    rules: [
      {
        ...rule(["approve"], certificates, "signers"),
        resourceNames: ["kubernetes.io/kubelet-serving", "kubernetes.io/kube-apiserver-client"],
      },
    ],
  },
  {
    metadata: { name: nodeServicesGroup },
    rules: [
      rule(["list", "watch"], "", "namespaces", "pods"),
      rule(["list", "watch"], "networking.k8s.io", "networkpolicies"),
      // Its provisioner's; the admission plugin NodeVolumes limits the writes to volumes of the node.
      rule(["get", "list", "watch", "create", "update", "delete"], "", "persistentvolumes"),
      rule(["get", "list", "watch", "update"], "", "persistentvolumeclaims"),
      rule(["update"], "", "persistentvolumeclaims/status"),
      rule(["list", "watch"], "storage.k8s.io", "storageclasses"),
    ],
  },
];

/** The same as kubeadm's, so that its tokens work too. */
const clusterBindings = (): InputOf<ClusterRoleBinding>[] => [
  bindCluster("kubeadm:kubelet-bootstrap", "system:node-bootstrapper", joinTokenGroup),
  bindCluster(
    "kubeadm:node-autoapprove-bootstrap",
    "system:certificates.k8s.io:certificatesigningrequests:nodeclient",
    joinTokenGroup,
  ),
  bindCluster(
    "kubeadm:node-autoapprove-certificate-rotation",
    "system:certificates.k8s.io:certificatesigningrequests:selfnodeclient",
    nodes,
  ),
  {
    ...bindCluster("orlop:node-approver", "orlop:node-approver", ""),
    subjects: [{ kind: "ServiceAccount", namespace: "kube-system", name: "certificate-controller" }],
  },
  bindCluster("orlop:selfnodeserver", "orlop:selfnodeserver", nodes),
  bindCluster("orlop:nodeservices", "orlop:nodeservices", nodes),
  bindCluster(nodeServicesGroup, nodeServicesGroup, nodeServicesGroup),
  bindCluster(`${nodeServicesGroup}:proxier`, "system:node-proxier", nodeServicesGroup),
];

const group = (name: string) => ({ kind: "Group", apiGroup: rbac, name });

const bindCluster = (name: string, role: string, who: string): InputOf<ClusterRoleBinding> => ({
  metadata: { name },
  roleRef: { apiGroup: rbac, kind: "ClusterRole", name: role },
  subjects: [group(who)],
});

const infoRole = { namespace: "kube-public", name: "kubeadm:bootstrap-signer-clusterinfo" };
const networkRole = { namespace: "kube-system", name: "orlop:node-network" };
const dnsRole = { namespace: "kube-system", name: "orlop:node-dns" };

const roles: readonly InputOf<Role>[] = [
  { metadata: infoRole, rules: [{ ...rule(["get"], "", "configmaps"), resourceNames: ["cluster-info"] }] },
  { metadata: networkRole, rules: [{ ...rule(["get"], "", "configmaps"), resourceNames: [networkConfigName] }] },
  {
    metadata: dnsRole,
    rules: [{ ...rule(["get", "list", "watch"], "", "configmaps"), resourceNames: [dnsConfigName] }],
  },
];

/** Whoever asks may know which cluster this is: that is how a machine finds out before it has a credential. */
const bindings = (): InputOf<RoleBinding>[] => [
  {
    metadata: infoRole,
    roleRef: { apiGroup: rbac, kind: "Role", name: infoRole.name },
    subjects: [{ kind: "User", apiGroup: rbac, name: "system:anonymous" }],
  },
  {
    metadata: networkRole,
    roleRef: { apiGroup: rbac, kind: "Role", name: networkRole.name },
    subjects: [group(nodes)],
  },
  {
    metadata: dnsRole,
    roleRef: { apiGroup: rbac, kind: "Role", name: dnsRole.name },
    subjects: [group(nodeServicesGroup)],
  },
];

const networkConfig = (facts: NetworkFacts): InputOf<ConfigMap> => ({
  metadata: { namespace: "kube-system", name: networkConfigName },
  data: renderNetworkFacts(facts),
});

/** The signatures in it are the signer's. */
async function publishClusterInfo(client: Client, { server, certificateAuthority }: JoinPlace): Promise<void> {
  const kubeconfig = renderClusterInfo({ server, certificateAuthority });
  const object = { metadata: { namespace: "kube-public", name: "cluster-info" }, data: { kubeconfig } };
  await ensure(client, ConfigMap, object, (_, current) => ({ data: { ...current.data, kubeconfig } }));
}

async function ensure<T extends ApiObject>(
  client: Client,
  resource: Resource<T>,
  object: InputOf<T>,
  change: (object: InputOf<T>, current: T) => object,
): Promise<void> {
  const { namespace = "", name = "" } = object.metadata as { namespace?: string; name?: string };
  const update = (current: T): InputOf<T> => ({ ...current, ...change(object, current) }) as unknown as InputOf<T>;
  await ensureObject(client, resource, { namespace, name, object, update });
}
