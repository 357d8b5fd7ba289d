import { type Sample } from "./sample.ts";

const rule = { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["limitranges"], scope: "*" };
/** Applies only to objects that no other request makes. */
const nowhere = { namespaceSelector: { matchLabels: { "differ.example/none": "x" } } };
const webhook = {
  name: "hook.example.com",
  clientConfig: { service: { namespace: "default", name: "hook", path: "/check", port: 443 } },
  rules: [rule],
  failurePolicy: "Ignore",
  matchPolicy: "Exact",
  sideEffects: "None",
  timeoutSeconds: 3,
  admissionReviewVersions: ["v1"],
  ...nowhere,
  matchConditions: [{ name: "some", expression: "object.metadata.name != 'x'" }],
};
const subject = { kind: "User", apiGroup: "rbac.authorization.k8s.io", name: "jane" };
const roleRules = [{ apiGroups: ["apps"], resources: ["deployments"], verbs: ["get"], resourceNames: ["web"] }];

export const policySamples: readonly Sample[] = [
  { kind: "MutatingWebhookConfiguration", body: { webhooks: [{ ...webhook, reinvocationPolicy: "IfNeeded" }] } },
  { kind: "ValidatingWebhookConfiguration", body: { webhooks: [webhook] } },
  {
    kind: "ValidatingAdmissionPolicy",
    body: {
      spec: {
        failurePolicy: "Fail",
        paramKind: { apiVersion: "v1", kind: "ConfigMap" },
        matchConstraints: { resourceRules: [rule], ...nowhere },
        matchConditions: [{ name: "some", expression: "object.metadata.name != 'x'" }],
        variables: [{ name: "short", expression: "size(object.metadata.name) < 9" }],
        validations: [
          { expression: "variables.short", message: "too long", reason: "Invalid", messageExpression: "'x'" },
        ],
        auditAnnotations: [{ key: "a", valueExpression: "'b'" }],
      },
    },
  },
  {
    kind: "ValidatingAdmissionPolicyBinding",
    body: {
      spec: {
        policyName: "policy",
        validationActions: ["Warn"],
        paramRef: { name: "p", parameterNotFoundAction: "Allow" },
        matchResources: nowhere,
      },
    },
  },
  {
    kind: "MutatingAdmissionPolicy",
    body: {
      spec: {
        failurePolicy: "Ignore",
        reinvocationPolicy: "Never",
        matchConstraints: { resourceRules: [rule], ...nowhere },
        mutations: [
          {
            patchType: "ApplyConfiguration",
            applyConfiguration: { expression: "Object{metadata: Object.metadata{labels: {'a': 'b'}}}" },
          },
        ],
      },
    },
  },
  {
    kind: "MutatingAdmissionPolicyBinding",
    body: {
      spec: {
        policyName: "policy",
        paramRef: { selector: { matchLabels: { a: "b" } }, parameterNotFoundAction: "Deny" },
        matchResources: nowhere,
      },
    },
  },
  { kind: "ClusterRole", body: { rules: [...roleRules, { nonResourceURLs: ["/metrics"], verbs: ["get"] }] } },
  { kind: "Role", body: { rules: roleRules } },
  {
    kind: "ClusterRoleBinding",
    body: {
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "view" },
      subjects: [subject],
    },
  },
  {
    kind: "RoleBinding",
    body: {
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "reader" },
      subjects: [subject, { kind: "ServiceAccount", name: "default", namespace: "default" }],
    },
  },
  {
    kind: "FlowSchema",
    body: {
      spec: {
        priorityLevelConfiguration: { name: "workload-low" },
        matchingPrecedence: 9000,
        distinguisherMethod: { type: "ByUser" },
        rules: [
          {
            subjects: [{ kind: "User", user: { name: "nobody-at-all" } }],
            resourceRules: [{ verbs: ["get"], apiGroups: [""], resources: ["pods"], namespaces: ["default"] }],
            nonResourceRules: [{ verbs: ["get"], nonResourceURLs: ["/healthz"] }],
          },
        ],
      },
    },
  },
  {
    kind: "PriorityLevelConfiguration",
    body: {
      spec: {
        type: "Limited",
        limited: {
          nominalConcurrencyShares: 1,
          lendablePercent: 50,
          limitResponse: { type: "Queue", queuing: { queues: 16, handSize: 4, queueLengthLimit: 20 } },
        },
      },
    },
  },
  {
    kind: "APIService",
    name: "v1.differ.example",
    body: {
      spec: {
        group: "differ.example",
        version: "v1",
        service: { namespace: "default", name: "api", port: 443 },
        groupPriorityMinimum: 1000,
        versionPriority: 15,
        insecureSkipTLSVerify: true,
      },
    },
  },
];

const attributes = { namespace: "default", verb: "get", group: "apps", resource: "deployments", name: "web" };
/** Kinds that are only answered, never stored. */
export const reviewSamples: readonly Sample[] = [
  { kind: "SelfSubjectReview", body: {} },
  { kind: "TokenReview", body: { spec: { token: "nonsense", audiences: ["api"] } } },
  {
    kind: "SubjectAccessReview",
    body: { spec: { user: "jane", groups: ["a"], uid: "1", extra: { k: ["v"] }, resourceAttributes: attributes } },
  },
  { kind: "SelfSubjectAccessReview", body: { spec: { nonResourceAttributes: { path: "/healthz", verb: "get" } } } },
  { kind: "SelfSubjectRulesReview", body: { spec: { namespace: "default" } } },
  {
    kind: "LocalSubjectAccessReview",
    body: { spec: { user: "jane", resourceAttributes: { ...attributes, namespace: "@namespace@" } } },
  },
];
