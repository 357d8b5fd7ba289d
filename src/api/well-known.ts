/** Names of labels, annotations and taints that several components share. */

/** Labels of nodes. */
export const hostnameLabel = "kubernetes.io/hostname";
export const regionLabel = "topology.kubernetes.io/region";
export const zoneLabel = "topology.kubernetes.io/zone";

/** Taints of nodes. */
export const notReadyTaint = "node.kubernetes.io/not-ready";
export const unreachableTaint = "node.kubernetes.io/unreachable";
export const unschedulableTaint = "node.kubernetes.io/unschedulable";
/** An administrator says that the node is gone for good. */
export const outOfServiceTaint = "node.kubernetes.io/out-of-service";

/** On a node, with the value "true": its kubelet leaves attaching volumes to the controller. */
export const managedAttachAnnotation = "volumes.kubernetes.io/controller-managed-attach-detach";

/** Labels of EndpointSlices: their service, the controller that manages them, and that the service is headless. */
export const serviceNameLabel = "kubernetes.io/service-name";
export const managedByLabel = "endpointslice.kubernetes.io/managed-by";
export const headlessLabel = "service.kubernetes.io/headless";

/** Label of Endpoints: the controller that manages them. */
export const endpointsManagedByLabel = "endpoints.kubernetes.io/managed-by";
/** On Endpoints, with the value "true": they are not copied into EndpointSlices. */
export const skipMirrorLabel = "endpointslice.kubernetes.io/skip-mirror";
/** On Endpoints that are no endpoints but the lock of a leader election, as old clients make them. */
export const leaderAnnotation = "control-plane.alpha.kubernetes.io/leader";
/** On Endpoints and EndpointSlices: when the change happened that they show. */
export const triggerTimeAnnotation = "endpoints.kubernetes.io/last-change-trigger-time";

/** Labels of IPAddresses: who manages them, and their IP family. */
export const ipManagedByLabel = "ipaddress.kubernetes.io/managed-by";
export const ipFamilyLabel = "ipaddress.kubernetes.io/ip-family";
/** Manages the IPAddresses of services: the API server. */
export const ipAllocator = "ipallocator.k8s.io";

/** On a namespace: its claims may ask for devices that others use, to administer them. */
export const adminAccessLabel = "resource.kubernetes.io/admin-access";

/** On a mirror pod: the API object of a static pod, which its node runs from a file. */
export const mirrorAnnotation = "kubernetes.io/config.mirror";
/** On a static pod and its mirror: where the node has it from. */
export const configSourceAnnotation = "kubernetes.io/config.source";
/** A ReplicaSet deletes the pod with the lower cost first. */
export const deletionCostAnnotation = "controller.kubernetes.io/pod-deletion-cost";
/** The object that `kubectl apply` last sent. */
export const lastAppliedAnnotation = "kubectl.kubernetes.io/last-applied-configuration";
/** The revision of its Deployment that a ReplicaSet runs, counted from 1. */
export const revisionAnnotation = "deployment.kubernetes.io/revision";
/** On a pod: the revision of the template that it was made from. On the revision of a DaemonSet: its own hash. */
export const revisionLabel = "controller-revision-hash";
/** Says which resources of a pod came from the defaults of its namespace. */
export const limitRangerAnnotation = "kubernetes.io/limit-ranger";
/** On a ServiceAccount: its pods may only mount the Secrets that it lists. */
export const enforceMountableAnnotation = "kubernetes.io/enforce-mountable-secrets";
/** On an Ingress: its class, from the time before spec.ingressClassName. */
export const ingressClassAnnotation = "kubernetes.io/ingress.class";
/** On an IngressClass, with the value "true": ingresses that name no class have this one. */
export const defaultIngressClassAnnotation = "ingressclass.kubernetes.io/is-default-class";
/** On the bookmark that follows the initial events of a watch. */
export const initialEventsEndAnnotation = "k8s.io/initial-events-end";

/** Keeps a ServiceCIDR until no service has an address that only this range contains. */
export const serviceCidrFinalizer = "networking.k8s.io/service-cidr-finalizer";
/** Finalizers that keep claims, volumes and attribute classes until nothing uses them. */
export const claimProtectionFinalizer = "kubernetes.io/pvc-protection";
export const volumeProtectionFinalizer = "kubernetes.io/pv-protection";
export const attributesClassProtectionFinalizer = "kubernetes.io/vac-protection";

/** The provisioner of volumes that are directories of a node. */
export const localProvisioner = "orlop.dev/local";

/** The group of the services of nodes that joined, such as their proxies. They know more about the cluster than kubelets may. */
export const nodeServicesGroup = "system:orlop:node-services";

/** Namespace of the leases that nodes renew as their heartbeat. */
export const nodeLeaseNamespace = "kube-node-lease";

/** Directory in containers that holds the token of their pod. */
export const serviceAccountDir = "/var/run/secrets/kubernetes.io/serviceaccount";

/** On a Secret with a token of a service account: the day when it was last used, and since when it is not valid. */
export const lastUsedLabel = "kubernetes.io/legacy-token-last-used";
export const invalidSinceLabel = "kubernetes.io/legacy-token-invalid-since";
/** The config map that says since when uses of such tokens are noted. */
export const legacyTokenTracking = {
  namespace: "kube-system",
  name: "kube-apiserver-legacy-service-account-token-tracking",
} as const;
/** On a Node: for how many seconds its kubelet may keep what pods read, in a cluster of this size. */
export const nodeTtlAnnotation = "node.alpha.kubernetes.io/ttl";
