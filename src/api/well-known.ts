/** Names that several parts know one another by. */

/** Labels of nodes. */
export const regionLabel = "topology.kubernetes.io/region";
export const zoneLabel = "topology.kubernetes.io/zone";

/** Taints of nodes. */
export const notReadyTaint = "node.kubernetes.io/not-ready";
export const unreachableTaint = "node.kubernetes.io/unreachable";
export const unschedulableTaint = "node.kubernetes.io/unschedulable";

/** Labels of EndpointSlices: the service they belong to, who keeps them, and that the service has no address. */
export const serviceNameLabel = "kubernetes.io/service-name";
export const managedByLabel = "endpointslice.kubernetes.io/managed-by";
export const headlessLabel = "service.kubernetes.io/headless";

/** On a pod that stands for one which its node runs from a file. */
export const mirrorAnnotation = "kubernetes.io/config.mirror";
/** Of two pods, a ReplicaSet gives up the one with less. */
export const deletionCostAnnotation = "controller.kubernetes.io/pod-deletion-cost";
/** What `kubectl apply` sent last. */
export const lastAppliedAnnotation = "kubectl.kubernetes.io/last-applied-configuration";
/** Which of a Deployment's templates a ReplicaSet has, counted from 1. */
export const revisionAnnotation = "deployment.kubernetes.io/revision";
/** On a ServiceAccount: its pods may mount no Secrets but those that it lists. */
export const enforceMountableAnnotation = "kubernetes.io/enforce-mountable-secrets";
/** On the bookmark that ends what was there when a watch began. */
export const initialEventsEndAnnotation = "k8s.io/initial-events-end";

/** Where the leases are by which nodes say that they live. */
export const nodeLeaseNamespace = "kube-node-lease";

/** Where containers find the token of their pod. */
export const serviceAccountDir = "/var/run/secrets/kubernetes.io/serviceaccount";
