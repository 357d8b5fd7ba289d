import { type PodReferences, referencesOf } from "#api/core/pod/pod-references.ts";
import { Pod } from "#api/core/pod.ts";
import { type UserInfo } from "#api/exchange.ts";
import { parseFieldSelector, requiredField } from "#api/meta/field-selector.ts";
import { type PolicyRule } from "#api/rbac/policy-rule.ts";
import { mirrorAnnotation, nodeLeaseNamespace } from "#api/well-known.ts";
import { type Informers } from "#runtime/informer.ts";
import { type RequestInfo } from "#server/request/pipeline.ts";
import { type Authorizer, type Decision, noOpinion } from "./authorizer.ts";
import { nodeRules } from "./bootstrap/bootstrap-roles.ts";
import { ruleAllows } from "./rules.ts";

export interface NodeAuthorizerDeps {
  readonly informers: Informers;
  readonly volumes?: VolumeRelations;
}

/** How storage objects relate to claims and nodes. Without it nodes cannot read any of them. */
export interface VolumeRelations {
  /** The volumes bound to a claim, with the secrets that a node needs to mount them. */
  volumesOf(claim: { namespace: string; name: string }): Iterable<{
    readonly name: string;
    readonly secrets: readonly { readonly namespace: string; readonly name: string }[];
  }>;
  nodeOfAttachment(name: string): string | undefined;
  nodeOfResourceSlice(name: string): string | undefined;
}

/**
 * Lets a node read only what the pods on it need:
 *
 *     node <- pod <- secret, config map, service account, resource claim
 *     node <- pod <- claim <- volume <- secret
 *     node <- volume attachment, resource slice
 *
 * The NodeRestriction admission plugin further limits what a node may write.
 */
export function createNodeAuthorizer({ informers, volumes }: NodeAuthorizerDeps): Authorizer {
  const pods = informers.of(Pod);
  const graph: Graph = { podsOn: (node) => pods.by("node", node), volumes };
  const rules: readonly PolicyRule[] = nodeRules();
  return {
    name: "node",
    authorize(user, info) {
      const node = nodeOf(user);
      if (node === undefined) return noOpinion;
      if (node === "") return refused(`unknown node for user ${JSON.stringify(user.name)}`);
      const special = info.isResource ? guarded[`${info.group}/${info.resource}`] : undefined;
      if (special) return special({ graph, node, info });
      return rules.some((rule) => ruleAllows(rule, info)) ? allowed : noOpinion;
    },
    rulesFor(user) {
      if (nodeOf(user) === undefined) return { rules: [], faults: [] };
      return { rules: [], faults: ["node authorizer does not support user rule resolution"], incomplete: true };
    },
  };
}

/** The node name of a user; "" if it has none, undefined if the user is not a node. */
export function nodeOf({ name, groups }: UserInfo): string | undefined {
  if (!name.startsWith("system:node:")) return undefined;
  return groups.includes("system:nodes") ? name.slice("system:node:".length) : undefined;
}

interface Graph {
  podsOn(node: string): readonly Pod[];
  readonly volumes: VolumeRelations | undefined;
}
interface Question {
  readonly graph: Graph;
  readonly node: string;
  readonly info: RequestInfo;
}

const allowed: Decision = { verdict: "allow", reason: "" };
const refused = (reason: string): Decision => ({ verdict: "no opinion", reason });

/** Resources whose access depends on the node. */
const guarded: Readonly<Record<string, (question: Question) => Decision>> = {
  "/secrets": (q) => readNamespaced(q, () => needs(q, "secrets") || mounts(q, "secret")),
  "/configmaps": (q) => readNamespaced(q, () => needs(q, "configMaps")),
  "/serviceaccounts": serviceAccount,
  "/persistentvolumeclaims": persistentVolumeClaim,
  "/persistentvolumes": (q) => getOnly(q, () => mounts(q, "volume")),
  "/nodes": ownNode,
  "/pods": ownPods,
  "resource.k8s.io/resourceclaims": (q) => getOnly(q, () => needs(q, "resourceClaims")),
  "resource.k8s.io/resourceslices": resourceSlice,
  "storage.k8s.io/volumeattachments": (q) =>
    getOnly(q, () => q.graph.volumes?.nodeOfAttachment(q.info.name) === q.node),
  "storage.k8s.io/csinodes": (q) => ownObject(q, "CSINode"),
  "coordination.k8s.io/leases": lease,
};

/** Whether a pod on the node references the object. Mirror pods do not count, because the node itself creates them. */
function needs({ graph, node, info }: Question, kind: keyof PodReferences): boolean {
  return graph.podsOn(node).some((pod) => isFrom(pod, info.namespace) && referencesOf(pod)[kind].has(info.name));
}

const isFrom = ({ metadata }: Pod, namespace: string): boolean =>
  metadata.namespace === namespace && !metadata.annotations?.[mirrorAnnotation];

/** Whether a pod on the node uses a claim with this volume, or with a volume that needs this secret. */
function mounts({ graph: { podsOn, volumes }, node, info }: Question, wanted: "volume" | "secret"): boolean {
  if (!volumes) return false;
  for (const pod of podsOn(node)) {
    const { namespace } = pod.metadata;
    if (!isFrom(pod, namespace)) continue;
    for (const name of referencesOf(pod).claims) {
      for (const volume of volumes.volumesOf({ namespace, name })) {
        if (wanted === "volume" ? volume.name === info.name : volume.secrets.some((one) => isNamed(one, info)))
          return true;
      }
    }
  }
  return false;
}
const isNamed = (one: { namespace: string; name: string }, { namespace, name }: RequestInfo): boolean =>
  one.name === name && one.namespace === namespace;

function related({ node, info }: Question, isRelated: () => boolean): Decision {
  if (!info.name) return refused("No Object name found");
  return isRelated() ? allowed : refused(`no relationship found between node '${node}' and this object`);
}

function getOnly(question: Question, isRelated: () => boolean): Decision {
  if (question.info.verb !== "get") return refused("can only get individual resources of this type");
  if (question.info.subresource) return refused("cannot get subresource");
  return related(question, isRelated);
}

function readNamespaced(question: Question, isRelated: () => boolean): Decision {
  const { verb, subresource, namespace } = question.info;
  if (!["get", "list", "watch"].includes(verb)) return refused("can only read resources of this type");
  if (subresource) return refused("cannot read subresource");
  if (!namespace) return refused("can only read namespaced object of this type");
  return related(question, isRelated);
}

function serviceAccount(question: Question): Decision {
  const { graph, node, info } = question;
  const isUsed = () =>
    graph.podsOn(node).some((pod) => isFrom(pod, info.namespace) && pod.spec.serviceAccountName === info.name);
  if (info.verb === "get" && !info.subresource) return readNamespaced(question, isUsed);
  if (info.verb !== "create" || !info.name) return refused("can only create tokens for individual service accounts");
  if (info.subresource !== "token") return refused("can only create token subresource of serviceaccount");
  return related(question, isUsed);
}

function persistentVolumeClaim(question: Question): Decision {
  const { verb, subresource } = question.info;
  const isUsed = () => needs(question, "claims");
  if (subresource !== "status") return getOnly(question, isUsed);
  if (verb !== "update" && verb !== "patch") return refused("can only get/update/patch this type");
  return related(question, isUsed);
}

function ownNode({ node, info: { verb, subresource, name } }: Question): Decision {
  if (subresource === "status") return verb === "update" || verb === "patch" ? allowed : noOpinion;
  if (subresource) return noOpinion;
  if (verb === "create" || verb === "update" || verb === "patch") return allowed;
  if (verb !== "get" && verb !== "list" && verb !== "watch") return noOpinion;
  if (name === node) return allowed;
  if (name === "") return refused(`node '${node}' cannot read all nodes, only its own Node object`);
  return refused(`node '${node}' cannot read '${name}', only its own Node object`);
}

function ownPods(question: Question): Decision {
  const { graph, node, info } = question;
  const { verb, subresource, name, namespace } = info;
  const isHere = () =>
    graph.podsOn(node).some(({ metadata }) => metadata.name === name && metadata.namespace === namespace);
  if (subresource === "status") return verb === "update" || verb === "patch" ? allowed : noOpinion;
  if (subresource === "eviction") return verb === "create" ? allowed : noOpinion;
  if (subresource) return noOpinion;
  if (verb === "create" || verb === "delete") return allowed;
  if (verb === "get") return related(question, isHere);
  if (verb !== "list" && verb !== "watch") return noOpinion;
  if (selectsOwn(info, "spec.nodeName", node)) return allowed;
  if (name) return related(question, isHere);
  return refused("can only list/watch pods with spec.nodeName field selector");
}

function resourceSlice(question: Question): Decision {
  const { graph, node, info } = question;
  if (info.subresource) return refused("cannot authorize ResourceSlice subresources");
  if (info.verb === "create") return allowed;
  if (["get", "update", "patch", "delete"].includes(info.verb)) {
    return related(question, () => graph.volumes?.nodeOfResourceSlice(info.name) === node);
  }
  if (!["watch", "list", "deletecollection"].includes(info.verb)) {
    return refused(
      "only the following verbs are allowed for a ResourceSlice: get, watch, list, create, update, patch, delete, deletecollection",
    );
  }
  if (selectsOwn(info, "spec.nodeName", node)) return allowed;
  return refused("can only list/watch/deletecollection resourceslices with nodeName field selector");
}

function lease(question: Question): Decision {
  const { node, info } = question;
  if (!ownVerbs.has(info.verb)) return refused("can only get, create, update, patch, or delete a node lease");
  if (info.namespace !== nodeLeaseNamespace) {
    return refused('can only access leases in the "kube-node-lease" system namespace');
  }
  // On create, only admission knows the name.
  if (info.verb === "create" || info.name === node) return allowed;
  return refused("can only access node lease with the same name as the requesting node");
}

function ownObject({ node, info }: Question, kind: string): Decision {
  if (!ownVerbs.has(info.verb)) return refused(`can only get, create, update, patch, or delete a ${kind}`);
  if (info.subresource) return refused(`cannot authorize ${kind} subresources`);
  if (info.verb === "create" || info.name === node) return allowed;
  return refused(`can only access ${kind} with the same name as the requesting node`);
}

const ownVerbs = new Set(["get", "create", "update", "patch", "delete"]);

const selectsOwn = ({ fieldSelector }: RequestInfo, field: string, node: string): boolean =>
  fieldSelector !== undefined && requiredField(parseFieldSelector(fieldSelector), field) === node;
