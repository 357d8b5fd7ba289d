/**
 * A rule in one line: verbs | API groups | resources | names of objects, or: verbs | paths. `core` stands for the empty
 * group, `read` for get, list and watch, `write` for create, delete, deletecollection, patch and update.
 */
export type RuleText = string;
export type RoleTexts = Readonly<Record<string, readonly RuleText[]>>;

export const recordEvents: RuleText = "create patch update | core events.k8s.io | events";

/** A part of view, edit and admin. Upstream's metrics server brings a role with this name, rule and labels. */
export const metricsReader = "system:aggregated-metrics-reader";

/** The cluster roles of every cluster, except for those of the controllers. */
export const clusterRoleTexts: RoleTexts = {
  "cluster-admin": ["* | * | *", "* | *"],
  "system:aggregate-to-admin": [
    "create | authorization.k8s.io | localsubjectaccessreviews",
    "read write | rbac.authorization.k8s.io | rolebindings roles",
  ],
  "system:aggregate-to-edit": [
    "read | core | pods/attach pods/exec pods/portforward pods/proxy secrets services/proxy",
    "impersonate | core | serviceaccounts",
    "write | core | pods pods/attach pods/exec pods/portforward pods/proxy",
    "create | core | pods/eviction",
    "write | core | configmaps persistentvolumeclaims replicationcontrollers replicationcontrollers/scale secrets serviceaccounts services services/proxy",
    "create | core | serviceaccounts/token",
    "write | core events.k8s.io | events",
    "write | apps | daemonsets deployments deployments/rollback deployments/scale replicasets replicasets/scale statefulsets statefulsets/scale",
    "write | autoscaling | horizontalpodautoscalers",
    "write | batch | cronjobs jobs",
    "write | extensions | daemonsets deployments deployments/rollback deployments/scale ingresses networkpolicies replicasets replicasets/scale replicationcontrollers/scale",
    "write | policy | poddisruptionbudgets",
    "write | networking.k8s.io | ingresses networkpolicies",
    "read write | coordination.k8s.io | leases",
    "write | resource.k8s.io | resourceclaims resourceclaimtemplates",
  ],
  "system:aggregate-to-view": [
    "read | core | configmaps endpoints persistentvolumeclaims persistentvolumeclaims/status pods replicationcontrollers replicationcontrollers/scale serviceaccounts services services/status",
    "read | core | bindings limitranges namespaces/status pods/log pods/status replicationcontrollers/status resourcequotas resourcequotas/status",
    "read | core | namespaces",
    "read | core events.k8s.io | events",
    "read | discovery.k8s.io | endpointslices",
    "read | apps | controllerrevisions daemonsets daemonsets/status deployments deployments/scale deployments/status replicasets replicasets/scale replicasets/status statefulsets statefulsets/scale statefulsets/status",
    "read | autoscaling | horizontalpodautoscalers horizontalpodautoscalers/status",
    "read | batch | cronjobs cronjobs/status jobs jobs/status",
    "read | extensions | daemonsets daemonsets/status deployments deployments/scale deployments/status ingresses ingresses/status networkpolicies replicasets replicasets/scale replicasets/status replicationcontrollers/scale",
    "read | policy | poddisruptionbudgets poddisruptionbudgets/status",
    "read | networking.k8s.io | ingresses ingresses/status networkpolicies",
    "read | resource.k8s.io | resourceclaims resourceclaims/status resourceclaimtemplates",
  ],
  [metricsReader]: ["read | metrics.k8s.io | nodes pods"],
  "system:auth-delegator": [
    "create | authentication.k8s.io | tokenreviews",
    "create | authorization.k8s.io | subjectaccessreviews",
  ],
  "system:basic-user": [
    "create | authorization.k8s.io | selfsubjectaccessreviews selfsubjectrulesreviews",
    "create | authentication.k8s.io | selfsubjectreviews",
  ],
  "system:certificates.k8s.io:certificatesigningrequests:nodeclient": [
    "create | certificates.k8s.io | certificatesigningrequests/nodeclient",
  ],
  "system:certificates.k8s.io:certificatesigningrequests:selfnodeclient": [
    "create | certificates.k8s.io | certificatesigningrequests/selfnodeclient",
  ],
  "system:certificates.k8s.io:kube-apiserver-client-approver": [
    "approve | certificates.k8s.io | signers | kubernetes.io/kube-apiserver-client",
  ],
  "system:certificates.k8s.io:kube-apiserver-client-kubelet-approver": [
    "approve | certificates.k8s.io | signers | kubernetes.io/kube-apiserver-client-kubelet",
  ],
  "system:certificates.k8s.io:kubelet-serving-approver": [
    "approve | certificates.k8s.io | signers | kubernetes.io/kubelet-serving",
  ],
  "system:certificates.k8s.io:legacy-unknown-approver": [
    "approve | certificates.k8s.io | signers | kubernetes.io/legacy-unknown",
  ],
  "system:discovery": [
    "get | /api /api/* /apis /apis/* /healthz /livez /openapi /openapi/* /readyz /version /version/",
  ],
  "system:heapster": ["read | core | events namespaces nodes pods", "read | extensions | deployments"],
  "system:kube-aggregator": ["read | core | endpoints services"],
  "system:kube-controller-manager": [
    recordEvents,
    "create | coordination.k8s.io | leases",
    "get update | coordination.k8s.io | leases | kube-controller-manager",
    "create | core | secrets serviceaccounts",
    "delete | core | secrets",
    "get | core | configmaps namespaces secrets serviceaccounts",
    "update | core | secrets serviceaccounts",
    "create | authentication.k8s.io | tokenreviews",
    "create | authorization.k8s.io | subjectaccessreviews",
    "list watch | * | *",
    "create | core | serviceaccounts/token",
  ],
  "system:kube-dns": ["list watch | core | endpoints services"],
  "system:kube-scheduler": [
    recordEvents,
    "create | coordination.k8s.io | leases",
    "read update | coordination.k8s.io | leases | kube-scheduler",
    "read write | coordination.k8s.io | leasecandidates",
    "read | core | nodes",
    "read delete | core | pods",
    "create | core | bindings pods/binding",
    "patch update | core | pods/status",
    "read | core | replicationcontrollers services",
    "read | apps extensions | replicasets",
    "read | apps | statefulsets",
    "read | policy | poddisruptionbudgets",
    "read | core | persistentvolumeclaims persistentvolumes",
    "create | authentication.k8s.io | tokenreviews",
    "create | authorization.k8s.io | subjectaccessreviews",
    "read | storage.k8s.io | csinodes",
    "read | storage.k8s.io | volumeattachments",
    "read | core | namespaces",
    "read | storage.k8s.io | csidrivers",
    "read | storage.k8s.io | csistoragecapacities",
    "read | resource.k8s.io | deviceclasses",
    "read patch update | resource.k8s.io | resourceclaims",
    "read patch update | resource.k8s.io | resourceclaims/status",
    "update | core | pods/finalizers",
    "read | resource.k8s.io | resourceslices",
    "create delete | resource.k8s.io | resourceclaims",
    "patch update | resource.k8s.io | resourceclaims/binding",
  ],
  "system:kubelet-api-admin": [
    "read | core | nodes",
    "proxy | core | nodes",
    "* | core | nodes/log nodes/metrics nodes/proxy nodes/stats",
    "* | core | nodes/configz nodes/healthz nodes/pods",
  ],
  "system:monitoring": [
    "get | /flagz /healthz /healthz/* /livez /livez/* /metrics /metrics/slis /readyz /readyz/* /statusz",
    "get | core | nodes/metrics",
  ],
  "system:node": [
    "create | authentication.k8s.io | tokenreviews",
    "create | authorization.k8s.io | localsubjectaccessreviews subjectaccessreviews",
    "read | core | services",
    "read create | core | nodes",
    "patch update | core | nodes/status",
    "patch update | core | nodes",
    recordEvents,
    "read | core | pods",
    "create delete | core | pods",
    "patch update | core | pods/status",
    "create | core | pods/eviction",
    "read | core | configmaps secrets",
    "get | core | persistentvolumeclaims persistentvolumes",
    "get | core | endpoints",
    "read create | certificates.k8s.io | certificatesigningrequests",
    "create delete get patch update | coordination.k8s.io | leases",
    "get | storage.k8s.io | volumeattachments",
    "create | core | serviceaccounts/token",
    "get patch update | core | persistentvolumeclaims/status",
    "read | storage.k8s.io | csidrivers",
    "create delete get patch update | storage.k8s.io | csinodes",
    "read | node.k8s.io | runtimeclasses",
    "get | resource.k8s.io | resourceclaims",
    "deletecollection | resource.k8s.io | resourceslices",
    "get | core | serviceaccounts",
  ],
  "system:node-bootstrapper": ["read create | certificates.k8s.io | certificatesigningrequests"],
  "system:node-problem-detector": ["get | core | nodes", "patch | core | nodes/status", recordEvents],
  "system:node-proxier": [
    "list watch | core | endpoints services",
    "read | core | nodes",
    recordEvents,
    "list watch | networking.k8s.io | servicecidrs",
    "list watch | discovery.k8s.io | endpointslices",
  ],
  "system:persistent-volume-provisioner": [
    "read create delete | core | persistentvolumes",
    "read update | core | persistentvolumeclaims",
    "read | storage.k8s.io | storageclasses",
    "watch | core | events",
    recordEvents,
  ],
  "system:public-info-viewer": ["get | /healthz /livez /readyz /version /version/"],
  "system:service-account-issuer-discovery": [
    "get | /.well-known/openid-configuration /.well-known/openid-configuration/ /openid/v1/jwks /openid/v1/jwks/",
  ],
  // Not upstream's: the provisioner of volumes that are directories of a node.
  "orlop:local-volume-provisioner": [
    "read create delete update | core | persistentvolumes",
    "read update | core | persistentvolumeclaims",
    "update | core | persistentvolumeclaims/status",
    "read create | storage.k8s.io | storageclasses",
    "read | core | nodes",
    recordEvents,
  ],
  // Not upstream's: there an administrator installs a controller for Ingresses and Gateways.
  "orlop:ingress": [
    "list watch | core | endpoints nodes services namespaces",
    "list watch | core | secrets",
    "list watch | discovery.k8s.io | endpointslices",
    "read | networking.k8s.io | ingresses",
    "update | networking.k8s.io | ingresses/status",
    "read create | networking.k8s.io | ingressclasses",
    "read | gateway.networking.k8s.io | *",
    "create | gateway.networking.k8s.io | gatewayclasses",
    "update | gateway.networking.k8s.io | gatewayclasses/status gateways/status grpcroutes/status httproutes/status tlsroutes/status",
    "create | apiextensions.k8s.io | customresourcedefinitions",
    "get update | apiextensions.k8s.io | customresourcedefinitions | gatewayclasses.gateway.networking.k8s.io gateways.gateway.networking.k8s.io httproutes.gateway.networking.k8s.io grpcroutes.gateway.networking.k8s.io tlsroutes.gateway.networking.k8s.io referencegrants.gateway.networking.k8s.io",
    recordEvents,
  ],
  "system:volume-scheduler": [
    "read patch update | core | persistentvolumes",
    "read | storage.k8s.io | storageclasses",
    "read patch update | core | persistentvolumeclaims",
  ],
};

/** Cluster roles that are aggregated from those with the label `aggregate-to-<name>`, and their own label. */
export const aggregatedRoles: readonly { readonly name: string; readonly partOf?: string }[] = [
  { name: "view", partOf: "edit" },
  { name: "edit", partOf: "admin" },
  { name: "admin" },
];

/** Roles in system namespaces, as namespace/name. */
export const roleTexts: RoleTexts = {
  "kube-public/system:controller:bootstrap-signer": [
    "read | core | configmaps",
    "update | core | configmaps | cluster-info",
    recordEvents,
  ],
  "kube-system/extension-apiserver-authentication-reader": [
    "read | core | configmaps | extension-apiserver-authentication",
  ],
  // Not upstream's: there an administrator installs cluster DNS.
  "kube-system/orlop:cluster-dns": [
    "create | core | services",
    "get update | core | services | kube-dns",
    "create get update | discovery.k8s.io | endpointslices",
  ],
  "kube-system/system::leader-locking-kube-controller-manager": [
    "read create update | coordination.k8s.io | leases",
    "read create update | coordination.k8s.io | leasecandidates",
  ],
  "kube-system/system::leader-locking-kube-scheduler": [
    "read create update | coordination.k8s.io | leases",
    "read create update | coordination.k8s.io | leasecandidates",
  ],
  "kube-system/system:controller:bootstrap-signer": ["read | core | secrets"],
  "kube-system/system:controller:cloud-provider": ["read create | core | configmaps"],
  "kube-system/system:controller:token-cleaner": ["read delete | core | secrets", recordEvents],
};

/** Who has which cluster role. A subject is `User name`, `Group name` or `ServiceAccount namespace/name`. */
export const clusterBindingTexts: Readonly<Record<string, readonly string[]>> = {
  "cluster-admin": ["Group system:masters"],
  "orlop:ingress": ["ServiceAccount kube-system/orlop-ingress"],
  "orlop:local-volume-provisioner": ["ServiceAccount kube-system/local-volume-provisioner"],
  "system:basic-user": ["Group system:authenticated"],
  "system:discovery": ["Group system:authenticated"],
  "system:kube-controller-manager": ["User system:kube-controller-manager"],
  "system:kube-dns": ["ServiceAccount kube-system/kube-dns"],
  "system:kube-scheduler": ["User system:kube-scheduler"],
  "system:monitoring": ["Group system:monitoring"],
  "system:node": [],
  "system:node-proxier": ["User system:kube-proxy"],
  "system:public-info-viewer": ["Group system:authenticated", "Group system:unauthenticated"],
  "system:service-account-issuer-discovery": ["Group system:serviceaccounts"],
  "system:volume-scheduler": ["User system:kube-scheduler"],
};

/** The same for roles, as namespace/binding: [role, ...subjects]. */
export const bindingTexts: Readonly<Record<string, readonly [string, ...string[]]>> = {
  "kube-public/system:controller:bootstrap-signer": [
    "system:controller:bootstrap-signer",
    "ServiceAccount kube-system/bootstrap-signer",
  ],
  "kube-system/orlop:cluster-dns": ["orlop:cluster-dns", "ServiceAccount kube-system/kube-dns"],
  "kube-system/system::extension-apiserver-authentication-reader": [
    "extension-apiserver-authentication-reader",
    "User system:kube-controller-manager",
    "User system:kube-scheduler",
  ],
  "kube-system/system::leader-locking-kube-controller-manager": [
    "system::leader-locking-kube-controller-manager",
    "User system:kube-controller-manager",
    "ServiceAccount kube-system/kube-controller-manager",
    "ServiceAccount kube-system/leader-election-controller",
  ],
  "kube-system/system::leader-locking-kube-scheduler": [
    "system::leader-locking-kube-scheduler",
    "User system:kube-scheduler",
    "ServiceAccount kube-system/kube-scheduler",
  ],
  "kube-system/system:controller:bootstrap-signer": [
    "system:controller:bootstrap-signer",
    "ServiceAccount kube-system/bootstrap-signer",
  ],
  "kube-system/system:controller:cloud-provider": [
    "system:controller:cloud-provider",
    "ServiceAccount kube-system/cloud-provider",
  ],
  "kube-system/system:controller:token-cleaner": [
    "system:controller:token-cleaner",
    "ServiceAccount kube-system/token-cleaner",
  ],
};
