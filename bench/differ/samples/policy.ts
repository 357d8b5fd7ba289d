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

/** A request for jane of the group team, in PEM. */
const signingRequest = [
  "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIWk1JR0FBZ0VBTUI0eERUQUxCZ05WQkFvTUJIUmxZVzB4RFRB",
  "TEJnTlZCQU1NQkdwaGJtVXdXVEFUQmdjcQpoa2pPUFFJQkJnZ3Foa2pPUFFNQkJ3TkNBQVFjRXd1RVdYQnlZVzJMQ2RVMXN4V3VM",
  "QnNEd2tFbTI1TmVydVZ6CjUxSkVMQ2VSdmJBelc4REpIWjE1b3VQb29TaDY5ZVM4VDNpTWhhQ0x1QUFSL3lHL29BQXdDZ1lJS29a",
  "SXpqMEUKQXdJRFNBQXdSUUloQVBkWUd4MGRqTmVucHlDNTBnNkt2OEUvSVAyZ01RUkxKdTBXZ25MZnJYQkVBaUJCOE51aQo0QWpZ",
  "SjVzbkJLbStjaFNBbDU2Vk5PZ2ZPNFdERkhLTlNBb2NpZz09Ci0tLS0tRU5EIENFUlRJRklDQVRFIFJFUVVFU1QtLS0tLQo=",
].join("");

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
  {
    kind: "CertificateSigningRequest",
    body: {
      spec: {
        request: signingRequest,
        signerName: "example.com/signer",
        expirationSeconds: 3600,
        usages: ["client auth", "digital signature"],
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
