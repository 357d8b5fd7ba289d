import { TokenRequest } from "#api/authentication/token-request.ts";
import { Node } from "#api/core/node.ts";
import { apiReferenceOf } from "#api/core/pod/pod-references.ts";
import { Pod } from "#api/core/pod.ts";
import { type ApiObject } from "#api/resource.ts";
import { notFound, type StatusError } from "#api/status.ts";
import { mirrorAnnotation, nodeLeaseNamespace } from "#api/well-known.ts";
import { readRequestSubject } from "#lib/crypto/x509.ts";
import { equal } from "#lib/data/equal.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { type Informer, type Informers } from "#runtime/informer.ts";
import { type Authorizer } from "#server/authorize/authorizer.ts";
import { decide } from "#server/authorize/chain.ts";
import { nodeOf } from "#server/authorize/node.ts";
import { blankRequestInfo } from "#server/request/request-info.ts";
import { forbiddenLabels } from "./node-rules.ts";
import { bodyOf, objectOf, oldObjectOf } from "./object-of.ts";
import { type AdmissionPlugin, type AdmissionRequest } from "./plugin.ts";
import { refusal } from "./refuse.ts";

export interface NodeRestrictionDeps {
  readonly informers: Informers;
  readonly authorizers: readonly Authorizer[];
}

/** Limits a node to its own objects: its Node and Lease, the pods on it, their mirror pods and tokens. */
export function nodeRestriction({ informers, authorizers }: NodeRestrictionDeps): AdmissionPlugin {
  const facts = { pods: informers.of(Pod), nodes: informers.of(Node), authorizers };
  const check = (request: AdmissionRequest): void | Promise<void> => {
    const node = nodeOf(request.user);
    if (node === undefined) return;
    const why = `could not determine node from user ${JSON.stringify(request.user.name)}`;
    if (!node) throw refusal(request, why);
    const restricted: Restricted = { ...facts, node, request, deny: (text) => refusal(request, text) };
    return restrictions[`${request.resource.group}/${request.resource.plural}`]?.(restricted);
  };
  return {
    name: "NodeRestriction",
    appliesTo: ({ operation }) => operation !== "CONNECT",
    mutate: check,
    validate: (request) => (request.operation === "DELETE" ? check(request) : undefined),
  };
}

interface Restricted {
  readonly pods: Informer<Pod>;
  readonly nodes: Informer<Node>;
  readonly authorizers: readonly Authorizer[];
  readonly node: string;
  readonly request: AdmissionRequest;
  deny(why: string): StatusError;
}

const restrictions: Readonly<Record<string, (restricted: Restricted) => void | Promise<void>>> = {
  "/pods": restrictPods,
  "/nodes": restrictNodes,
  "/persistentvolumeclaims": restrictClaims,
  "/serviceaccounts": restrictTokens,
  "coordination.k8s.io/leases": restrictLeases,
  "storage.k8s.io/csinodes": (restricted) => ownName(restricted, "CSINode"),
  "resource.k8s.io/resourceslices": restrictResourceSlices,
  "certificates.k8s.io/certificatesigningrequests": restrictSigningRequests,
};

function restrictPods(restricted: Restricted): void {
  const { node, request, deny } = restricted;
  const { operation, subresource } = request;
  if (subresource === "status") return restrictPodStatus(restricted);
  if (subresource === "eviction") {
    if (podOf(restricted, request.name).spec.nodeName === node) return;
    throw deny(`node ${node} can only evict pods with spec.nodeName set to itself`);
  }
  if (subresource) {
    throw deny(`unexpected pod subresource "${subresource}", only 'status' and 'eviction' are allowed`);
  }
  if (operation === "CREATE") return restrictMirrorPod(restricted);
  if (operation !== "DELETE") {
    throw deny(`unexpected operation "${operation}", node "${node}" can only create and delete mirror pods`);
  }
  if (podOf(restricted, request.name).spec.nodeName !== node) {
    throw deny(`node "${node}" can only delete pods with spec.nodeName set to itself`);
  }
}

function podOf({ pods, request: { namespace } }: Restricted, name: string): Pod {
  const pod = pods.get({ namespace, name });
  if (!pod) throw notFound(Pod, name);
  return pod;
}

function restrictPodStatus({ node, request, deny }: Restricted): void {
  const pod = objectOf(Pod, request);
  const old = oldObjectOf(Pod, request);
  if (request.operation !== "UPDATE" || !pod || !old) throw deny(`unexpected operation "${request.operation}"`);
  if (old.spec.nodeName !== node) {
    throw deny(`node "${node}" can only update pod status for pods with spec.nodeName set to itself`);
  }
  if (!equal(pod.metadata.labels ?? {}, old.metadata.labels ?? {})) {
    throw deny(`node "${node}" cannot update labels through pod status`);
  }
  if (!equal(pod.status?.resourceClaimStatuses ?? [], old.status?.resourceClaimStatuses ?? [])) {
    throw deny(`node "${node}" cannot update resource claim statues`);
  }
  if (!equal(pod.status?.extendedResourceClaimStatus, old.status?.extendedResourceClaimStatus)) {
    throw deny(`node "${node}" cannot update extended resource claim status`);
  }
}

function restrictMirrorPod(restricted: Restricted): void {
  const { node, request, deny } = restricted;
  const pod = objectOf(Pod, request);
  if (!pod) return;
  const { annotations = {} } = pod.metadata;
  if (annotations[mirrorAnnotation] === undefined) {
    throw deny(`pod does not have "${mirrorAnnotation}" annotation, node "${node}" can only create mirror pods`);
  }
  if (pod.spec.nodeName !== node) throw deny(`node "${node}" can only create pods with spec.nodeName set to itself`);
  restrictOwner(restricted, pod);
  const reference = apiReferenceOf(pod);
  if (reference) throw deny(`node "${node}" can not create pods that reference ${reference}`);
}

function restrictOwner({ node, nodes, deny }: Restricted, { metadata: { ownerReferences = [] } }: Pod): void {
  const [owner, second] = ownerReferences;
  if (second) throw deny(`node "${node}" can only create pods with a single owner reference set to itself`);
  if (owner?.apiVersion !== "v1" || owner.kind !== "Node" || owner.name !== node) {
    throw deny(`node "${node}" can only create pods with an owner reference set to itself`);
  }
  if (!owner.controller) {
    throw deny(`node "${node}" can only create pods with a controller owner reference set to itself`);
  }
  if (owner.blockOwnerDeletion) throw deny(`node "${node}" must not set blockOwnerDeletion on an owner reference`);
  const known = nodes.get({ name: node });
  if (!known) throw notFound(Node, node);
  if (owner.uid !== known.metadata.uid) {
    throw deny(`node ${node} UID mismatch: expected ${owner.uid} got ${known.metadata.uid}`);
  }
}

function restrictNodes({ node, request, deny }: Restricted): void {
  const object = objectOf(Node, request);
  const name = request.name || object?.metadata.name || "";
  if (name !== node) throw deny(`node "${node}" is not allowed to modify node "${name}"`);
  if (!object) return;
  const old = oldObjectOf(Node, request);
  const labels = forbiddenLabels(object.metadata.labels, old?.metadata.labels).join(", ");
  const { configSource } = object.spec;
  if (!old) {
    if (configSource) throw deny(`node "${node}" is not allowed to create pods with a non-nil configSource`);
    if (labels) throw deny(`node "${node}" is not allowed to set the following labels: ${labels}`);
    return;
  }
  if (configSource && !equal(configSource, old.spec.configSource)) {
    throw deny(`node "${node}" is not allowed to update configSource to a new non-nil configSource`);
  }
  if (!equal(object.spec.taints ?? [], old.spec.taints ?? [])) {
    throw deny(`node "${node}" is not allowed to modify taints`);
  }
  if (!equal(object.metadata.ownerReferences ?? [], old.metadata.ownerReferences ?? [])) {
    throw deny(`node "${node}" is not allowed to modify ownerReferences`);
  }
  if (labels) throw deny(`is not allowed to modify labels: ${labels}`);
}

function restrictClaims({ node, request: { operation, subresource, object, oldObject }, deny }: Restricted): void {
  if (subresource !== "status") throw deny("may only update PVC status");
  if (operation !== "UPDATE" || !object || !oldObject) throw deny(`unexpected operation "${operation}"`);
  if (equal(withoutProgress(object), withoutProgress(oldObject))) return;
  throw deny(`node "${node}" is not allowed to update fields other than status.quantity and status.conditions`);
}

/** A claim without the fields that a node reports when it resizes a volume. */
function withoutProgress(claim: ApiObject): object {
  const { resourceVersion: _revision, managedFields: _fields, ...metadata } = claim.metadata;
  const status = "status" in claim && typeof claim.status === "object" ? { ...claim.status } : {};
  const progress = ["capacity", "conditions", "allocatedResourceStatuses", "allocatedResources"];
  const kept = Object.entries(status).filter(([name]) => !progress.includes(name));
  return { ...claim, metadata, status: Object.fromEntries(kept) };
}

async function restrictTokens(restricted: Restricted): Promise<void> {
  const { node, request, deny, authorizers } = restricted;
  if (request.operation !== "CREATE" || request.subresource !== "token") return;
  const { boundObjectRef: ref, audiences = [] } = bodyOf(TokenRequest, request)?.spec ?? {};
  if (ref?.apiVersion !== "v1" || ref.kind !== "Pod" || !ref.name)
    throw deny("node requested token not bound to a pod");
  if (!ref.uid) throw deny("node requested token with a pod binding without a uid");
  const pod = podOf(restricted, ref.name);
  if (ref.uid !== pod.metadata.uid) {
    throw deny(
      `the UID in the bound object reference (${ref.uid}) does not match the UID in record. The object might have been deleted and then recreated`,
    );
  }
  if (pod.spec.nodeName !== node) throw deny("node requested token bound to a pod scheduled on a different node");
  const [audience = "", second] = audiences;
  if (second !== undefined) throw deny("node may only request 0 or 1 audiences");
  const sources = (pod.spec.volumes ?? []).flatMap(({ projected }) => projected?.sources ?? []);
  if (sources.some((source) => source.serviceAccountToken && (source.serviceAccountToken.audience ?? "") === audience))
    return;
  const { namespace, name, user } = request;
  const asked = { verb: "request-serviceaccounts-token-audience", version: "v1", resource: audience, namespace, name };
  const { verdict } = await decide(authorizers, user, { ...blankRequestInfo, isResource: true, ...asked });
  if (verdict === "allow") return;
  throw deny(
    `audience "${audience}" not found in pod spec volume, ${user.name} is not authorized to request tokens for this audience`,
  );
}

function restrictLeases(restricted: Restricted): void {
  if (restricted.request.namespace !== nodeLeaseNamespace) {
    throw restricted.deny('can only access leases in the "kube-node-lease" system namespace');
  }
  ownName(restricted, "node lease");
}

function ownName({ node, request: { name, object }, deny }: Restricted, kind: string): void {
  if ((name || object?.metadata.name) === node) return;
  throw deny(`can only access ${kind} with the same name as the requesting node`);
}

function restrictResourceSlices({ node, request: { operation, object, oldObject }, deny }: Restricted): void {
  const check = (slice: ApiObject | undefined, verb: string) => {
    if (textIn(slice, "nodeName") === node) return;
    throw deny(`can only ${verb} ResourceSlice with the same NodeName as the requesting node`);
  };
  if (operation === "CREATE") check(object, "create");
  if (operation === "DELETE") check(oldObject, "delete");
}

const nodeSigners = new Set(["kubernetes.io/kubelet-serving", "kubernetes.io/kube-apiserver-client-kubelet"]);

function restrictSigningRequests({ node, request: { operation, object }, deny }: Restricted): void {
  if (operation !== "CREATE" || !nodeSigners.has(textIn(object, "signerName"))) return;
  let commonName: string;
  try {
    commonName = readRequestSubject(Buffer.from(textIn(object, "request"), "base64").toString("latin1")).commonName;
  } catch (cause) {
    throw deny(`unable to parse csr: ${messageOf(cause)}`);
  }
  if (commonName !== `system:node:${node}`) throw deny(`can only create a node CSR with CN=system:node:${node}`);
}

/** A string field of the spec; "" if there is none. */
function textIn(object: ApiObject | undefined, field: string): string {
  const spec = object && "spec" in object ? object.spec : undefined;
  if (typeof spec !== "object" || spec === null) return "";
  const value: unknown = Object.entries(spec).find(([name]) => name === field)?.[1];
  return typeof value === "string" ? value : "";
}
