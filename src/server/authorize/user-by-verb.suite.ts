import { type Client } from "#client/client.ts";

export interface Row {
  readonly method: string;
  readonly target: string;
  readonly variant: string;
  readonly status: number;
  /** Any one of these is enough. */
  readonly enough: readonly string[];
}

const otherGroups = {
  deployments: "apps",
  leases: "coordination.k8s.io",
  roles: "rbac.authorization.k8s.io",
  rolebindings: "rbac.authorization.k8s.io",
  clusterroles: "rbac.authorization.k8s.io",
  clusterrolebindings: "rbac.authorization.k8s.io",
  subjectaccessreviews: "authorization.k8s.io",
  localsubjectaccessreviews: "authorization.k8s.io",
  selfsubjectaccessreviews: "authorization.k8s.io",
  tokenreviews: "authentication.k8s.io",
  uids: "authentication.k8s.io",
  userextras: "authentication.k8s.io",
};

/** Kinds whose verbs are all authorised in the same way: by group, those of a namespace and those of the cluster. */
const plainKinds: readonly (readonly [group: string, namespaced: string, cluster: string])[] = [
  ["", "endpoints events limitranges persistentvolumeclaims podtemplates", "persistentvolumes"],
  ["", "replicationcontrollers resourcequotas serviceaccounts", ""],
  ["apps", "controllerrevisions daemonsets replicasets statefulsets", ""],
  ["autoscaling", "horizontalpodautoscalers", ""],
  ["batch", "cronjobs jobs", ""],
  ["certificates.k8s.io", "", "certificatesigningrequests"],
  ["discovery.k8s.io", "endpointslices", ""],
  ["flowcontrol.apiserver.k8s.io", "", "flowschemas prioritylevelconfigurations"],
  ["networking.k8s.io", "ingresses networkpolicies", "ingressclasses ipaddresses servicecidrs"],
  ["node.k8s.io", "", "runtimeclasses"],
  ["policy", "poddisruptionbudgets", ""],
  ["resource.k8s.io", "resourceclaims resourceclaimtemplates", "deviceclasses resourceslices"],
  ["storage.k8s.io", "csistoragecapacities", "csidrivers csinodes storageclasses volumeattachments"],
];
const words = (text: string): string[] => text.split(" ").filter(Boolean);

/** One row for each of these kinds and verbs. */
export const plainRows: readonly Row[] = plainKinds.flatMap(([group, namespaced, cluster]) =>
  [...words(namespaced), ...words(cluster).map((plural) => `all:${plural}`)].flatMap((place) => {
    const plural = place.replace("all:", "");
    const row = (method: string, target: string, status: number, verb: string): Row => {
      const wildcard = group === "" && verb === "get" ? ["get *"] : [];
      return { method, target, variant: "", status, enough: [`${verb} ${plural}`, ...wildcard] };
    };
    return [
      row("GET", `${place}/none`, 404, "get"),
      row("GET", place, 200, "list"),
      row("WATCH", place, 200, "watch"),
      row("PATCH", `${place}/none`, 404, "patch"),
      row("DELETE", `${place}/none`, 404, "delete"),
      row("DELETE", place, 200, "deletecollection"),
    ];
  }),
);

/** The groups of the resources outside the core group. */
export const groups: Readonly<Record<string, string>> = {
  ...otherGroups,
  ...Object.fromEntries(
    plainKinds.flatMap(([group, namespaced, cluster]) =>
      words(`${namespaced} ${cluster}`).map((plural) => [plural, group]),
    ),
  ),
};

interface Sent {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

const methods: Readonly<Record<string, string>> = { WATCH: "GET", APPLY: "PATCH", JSON: "PATCH", AS: "GET" };
const patchTypes: Readonly<Record<string, string>> = {
  APPLY: "apply-patch+yaml",
  JSON: "json-patch+json",
  PATCH: "merge-patch+json",
};

/** The request of a row of the table, with a valid body. */
export async function requestOf({ method, target, variant }: Row, admin: Client): Promise<Sent> {
  if (method === "AS")
    return { method: "GET", path: pathOf("pods/web"), query: "", headers: impersonating(target, variant) };
  const [place = "", asked = ""] = target.split("?");
  const path = pathOf(place);
  const isWrite = method !== "GET" && method !== "WATCH" && !place.startsWith("/");
  const query = [
    asked,
    ...(method === "WATCH" ? ["watch=true"] : []),
    ...(isWrite ? ["dryRun=All"] : []),
    ...(method === "APPLY" ? ["fieldManager=t"] : []),
  ];
  const type = patchTypes[method] ?? "json";
  const headers = { "content-type": `application/${type}` };
  const body = isWrite && method !== "DELETE" ? await bodyOf({ method, place, path, variant, admin }) : undefined;
  return { method: methods[method] ?? method, path, query: query.filter(Boolean).join("&"), headers, body };
}

function pathOf(target: string): string {
  if (target.startsWith("/")) return target;
  const place = target.replace("all:", "");
  const [plural = ""] = place.split("/");
  const group = groups[plural];
  const root = group ? `/apis/${group}/v1` : "/api/v1";
  return target === place ? `${root}/namespaces/shop/${place}` : `${root}/${place}`;
}

function impersonating(user: string, variant: string): Record<string, string> {
  const [kind = "", value = ""] = variant.split("=");
  return { "impersonate-user": user, ...(kind ? { [`impersonate-${kind}`]: value } : {}) };
}

interface BodyFacts {
  readonly method: string;
  readonly place: string;
  readonly path: string;
  readonly variant: string;
  readonly admin: Client;
}

/** The body of a valid request of this kind. */
async function bodyOf({ method, place, path, variant, admin }: BodyFacts): Promise<unknown> {
  const [plural = "", name = "", part = ""] = place.replace("all:", "").split("/");
  const rules = variant === "(secrets)" ? [{ verbs: ["get"], apiGroups: [""], resources: ["secrets"] }] : [];
  const isNew = name === "missing" || name === "new";
  if (part === "proxy") return {};
  if (method === "JSON") return [];
  if (method === "PATCH") return variant ? { rules } : {};
  if (method === "PUT" && !isNew) return await currentAt(path.replace("/finalize", ""), admin);
  const apiVersion = groups[plural] ? `${groups[plural]}/v1` : "v1";
  const own = { apiVersion, kind: kinds[plural] ?? "", metadata: { name: name || "new" } };
  if (method === "APPLY") return isNew && !part ? { ...own, ...contents[plural] } : own;
  if (part) return parts[part] ?? {};
  if (variant === "(view)") return { ...own, roleRef: { apiGroup: groups.roles, kind: "ClusterRole", name: "view" } };
  if (variant === "(gathering)") return { ...own, aggregationRule: { clusterRoleSelectors: [{}] } };
  return { ...own, ...(plural === "roles" ? { rules } : contents[plural]) };
}

async function currentAt(path: string, admin: Client): Promise<unknown> {
  const { body } = await admin.raw("GET", path);
  return JSON.parse(Buffer.from(body).toString());
}

const kinds: Readonly<Record<string, string>> = {
  pods: "Pod",
  bindings: "Binding",
  configmaps: "ConfigMap",
  namespaces: "Namespace",
  services: "Service",
  leases: "Lease",
  deployments: "Deployment",
  roles: "Role",
  rolebindings: "RoleBinding",
  clusterroles: "ClusterRole",
  clusterrolebindings: "ClusterRoleBinding",
  subjectaccessreviews: "SubjectAccessReview",
  localsubjectaccessreviews: "LocalSubjectAccessReview",
  selfsubjectaccessreviews: "SelfSubjectAccessReview",
  tokenreviews: "TokenReview",
};
const resourceAttributes = { verb: "get", resource: "pods", namespace: "shop" };
const target = { kind: "Node", name: "n1" };
const contents: Readonly<Record<string, object>> = {
  pods: { spec: { containers: [{ name: "web", image: "web:1" }] } },
  bindings: { metadata: { name: "free" }, target },
  services: { spec: { ports: [{ port: 80 }] } },
  leases: { spec: {} },
  subjectaccessreviews: { metadata: {}, spec: { user: "jane", resourceAttributes } },
  localsubjectaccessreviews: { metadata: { namespace: "shop" }, spec: { user: "jane", resourceAttributes } },
  selfsubjectaccessreviews: { metadata: {}, spec: { resourceAttributes } },
  tokenreviews: { spec: { token: "x" } },
};
const parts: Readonly<Record<string, object>> = {
  binding: { apiVersion: "v1", kind: "Binding", metadata: { name: "free" }, target },
  eviction: { apiVersion: "policy/v1", kind: "Eviction", metadata: { name: "web" } },
  token: { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: { audiences: ["a"] } },
};
