import { type FlowSchema, mandatoryFlowSpecs } from "#api/flowcontrol/flow-schema.ts";
import { mandatoryLevelSpecs, type PriorityLevelConfiguration } from "#api/flowcontrol/priority-level-configuration.ts";
import { type InputOf } from "#api/resource.ts";

export const autoUpdateAnnotation = "apf.kubernetes.io/autoupdate-spec";

/** A level in one line: shares, percentage that it lends, queues, queues of a flow. */
const suggestedLevels: Readonly<Record<string, readonly [number, number, number, number]>> = {
  system: [30, 33, 64, 6],
  "node-high": [40, 25, 64, 6],
  "leader-election": [10, 0, 16, 4],
  "workload-high": [40, 50, 128, 6],
  "workload-low": [100, 90, 128, 6],
  "global-default": [20, 50, 128, 6],
};

type LevelInput = InputOf<PriorityLevelConfiguration>;
type SchemaInput = InputOf<FlowSchema>;
type SchemaSpec = NonNullable<SchemaInput["spec"]>;
type Rule = NonNullable<SchemaSpec["rules"]>[number];
type Subjects = NonNullable<Rule["subjects"]>;

const metadataOf = (name: string) => ({ name, annotations: { [autoUpdateAnnotation]: "true" } });

function suggestedLevel(name: string, [shares, lendablePercent, queues, handSize]: readonly number[]): LevelInput {
  const queuing = { queues: queues ?? 0, handSize: handSize ?? 0, queueLengthLimit: 50 };
  const limitResponse = { type: "Queue", queuing };
  const limited = { nominalConcurrencyShares: shares ?? 0, lendablePercent: lendablePercent ?? 0, limitResponse };
  return { metadata: metadataOf(name), spec: { type: "Limited", limited } };
}

const groups = (...names: string[]): Subjects => names.map((name) => ({ kind: "Group", group: { name } }));
const users = (...names: string[]): Subjects => names.map((name) => ({ kind: "User", user: { name } }));
const systemAccounts: Subjects = [{ kind: "ServiceAccount", serviceAccount: { namespace: "kube-system", name: "*" } }];
const everybody = groups("system:unauthenticated", "system:authenticated");
const nodes = groups("system:nodes");

const everything = {
  resourceRules: [{ verbs: ["*"], apiGroups: ["*"], resources: ["*"], clusterScope: true, namespaces: ["*"] }],
  nonResourceRules: [{ verbs: ["*"], nonResourceURLs: ["*"] }],
};
const leases = (verbs: string[]) => ({
  verbs,
  apiGroups: ["coordination.k8s.io"],
  resources: ["leases"],
  namespaces: ["*"],
});
const nodeObjects = {
  verbs: ["*"],
  apiGroups: [""],
  resources: ["nodes", "nodes/status"],
  clusterScope: true,
  namespaces: ["*"],
};
const probePaths = { verbs: ["get"], nonResourceURLs: ["/healthz", "/readyz", "/livez"] };
const elections = leases(["get", "create", "update"]);
const electors = [...users("system:kube-controller-manager", "system:kube-scheduler"), ...systemAccounts];

/** Name, priority level, precedence, what divides it into flows, and its rule. */
type SchemaText = readonly [name: string, level: string, precedence: number, by: string, rule: Rule];
const suggestedSchemas: readonly SchemaText[] = [
  ["probes", "exempt", 2, "", { subjects: everybody, nonResourceRules: [probePaths] }],
  ["system-leader-election", "leader-election", 100, "ByUser", { subjects: electors, resourceRules: [elections] }],
  ["system-node-high", "node-high", 400, "ByUser", { subjects: nodes, resourceRules: [nodeObjects, leases(["*"])] }],
  ["system-nodes", "system", 500, "ByUser", { subjects: nodes, ...everything }],
  [
    "kube-controller-manager",
    "workload-high",
    800,
    "ByNamespace",
    { subjects: users("system:kube-controller-manager"), ...everything },
  ],
  ["kube-scheduler", "workload-high", 800, "ByNamespace", { subjects: users("system:kube-scheduler"), ...everything }],
  ["kube-system-service-accounts", "workload-high", 900, "ByNamespace", { subjects: systemAccounts, ...everything }],
  ["service-accounts", "workload-low", 9000, "ByUser", { subjects: groups("system:serviceaccounts"), ...everything }],
  ["global-default", "global-default", 9900, "ByUser", { subjects: everybody, ...everything }],
];

const suggestedSchema = ([name, level, matchingPrecedence, by, rule]: SchemaText): SchemaInput => ({
  metadata: metadataOf(name),
  spec: {
    priorityLevelConfiguration: { name: level },
    matchingPrecedence,
    ...(by ? { distinguisherMethod: { type: by } } : {}),
    rules: [rule],
  },
});

/** Nobody can change these; a server works as if they were there even while they are not. */
export const mandatoryLevels: readonly LevelInput[] = Object.entries(mandatoryLevelSpecs).map(([name, spec]) => ({
  metadata: metadataOf(name),
  spec,
}));
export const mandatorySchemas: readonly SchemaInput[] = Object.entries(mandatoryFlowSpecs).map(([name, spec]) => ({
  metadata: metadataOf(name),
  spec,
}));

/** Administrators can change these, if they set the annotation to false. */
export const suggestedFlows = (): { levels: readonly LevelInput[]; schemas: readonly SchemaInput[] } => ({
  levels: Object.entries(suggestedLevels).map(([name, numbers]) => suggestedLevel(name, numbers)),
  schemas: suggestedSchemas.map(suggestedSchema),
});
