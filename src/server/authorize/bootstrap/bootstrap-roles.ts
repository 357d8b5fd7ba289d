import { type ObjectMeta } from "#api/meta/object-meta.ts";
import { ClusterRole } from "#api/rbac/cluster-role.ts";
import { ClusterRoleBinding } from "#api/rbac/cluster-role-binding.ts";
import { type PolicyRule } from "#api/rbac/policy-rule.ts";
import { Role } from "#api/rbac/role.ts";
import { RoleBinding } from "#api/rbac/role-binding.ts";
import { type Binding, rbacGroup, type Subject } from "#api/rbac/subject.ts";
import { type ApiObject, type InputOf, type Resource } from "#api/resource.ts";
import { isAlreadyExists, isConflict } from "#api/status.ts";
import { type Client } from "#client/client.ts";
import { keyOf } from "#runtime/object-cache.ts";
import { uncoveredRules } from "../rule-coverage.ts";
import { controllerRoleTexts } from "./bootstrap-controllers.ts";
import {
  aggregatedRoles,
  bindingTexts,
  clusterBindingTexts,
  clusterRoleTexts,
  metricsReader,
  type RoleTexts,
  type RuleText,
  roleTexts,
} from "./bootstrap-policy.ts";

const autoUpdate = "rbac.authorization.kubernetes.io/autoupdate";
const controllerPrefix = "system:controller:";

/**
 * Creates the missing default roles and bindings, and restores what was removed from them, unless the annotation says
 * false. The namespaces kube-system and kube-public must exist.
 */
export async function ensureBootstrapRoles(client: Client, signal?: AbortSignal): Promise<void> {
  const ensure = async <T extends ApiObject>(kind: Ensured<T>) => {
    const options = signal ? { signal } : {};
    const { items } = await client.list(kind.resource, options);
    const known = new Map(items.map((item) => [keyOf(item), item]));
    await Promise.all(
      kind.wanted.map((wanted) => ensureOne(client, kind, { wanted, known: known.get(keyOf(wanted)) })),
    );
  };
  const roles = { repair: repairRole };
  await Promise.all([
    ensure({ resource: ClusterRole, wanted: bootstrapClusterRoles(), ...roles }),
    ensure({ resource: Role, wanted: bootstrapRoles(), ...roles }),
    ensure({ resource: ClusterRoleBinding, wanted: bootstrapClusterRoleBindings(), repair: repairBinding }),
    ensure({ resource: RoleBinding, wanted: bootstrapRoleBindings(), repair: repairBinding }),
  ]);
}

/** An object that is not stored yet. */
type New<T extends ApiObject> = Omit<T, "metadata"> & { metadata: ObjectMeta };

interface Ensured<T extends ApiObject> {
  readonly resource: Resource<T>;
  readonly wanted: readonly (New<T> & InputOf<T>)[];
  /** The object with missing parts restored, or undefined if it is complete. */
  repair(known: T, wanted: New<T>): (New<T> & InputOf<T>) | undefined;
}

async function ensureOne<T extends ApiObject>(
  client: Client,
  { resource, repair }: Ensured<T>,
  { wanted, known }: { wanted: New<T> & InputOf<T>; known: T | undefined },
): Promise<void> {
  try {
    if (!known) {
      await client.create(resource, wanted);
      return;
    }
    if (known.metadata.annotations?.[autoUpdate] === "false") return;
    const repaired = repair(known, wanted);
    if (repaired) await client.update(resource, repaired);
  } catch (error) {
    // Another server did it at the same time.
    if (!isAlreadyExists(error) && !isConflict(error)) throw error;
  }
}

function repairRole<R extends Role | ClusterRole>(known: R, wanted: New<R>): R | undefined {
  // The controller fills these from other roles.
  if ("aggregationRule" in wanted && wanted.aggregationRule) return undefined;
  const { missing } = uncoveredRules(known.rules, wanted.rules);
  return missing.length === 0 ? undefined : { ...known, rules: [...known.rules, ...missing] };
}

function repairBinding<B extends Binding>(known: B, wanted: New<B>): B | undefined {
  const subjects = known.subjects ?? [];
  const has = ({ kind, name, namespace }: Subject) =>
    subjects.some((one) => one.kind === kind && one.name === name && (one.namespace ?? "") === (namespace ?? ""));
  const missing = (wanted.subjects ?? []).filter((subject) => !has(subject));
  return missing.length === 0 ? undefined : { ...known, subjects: [...subjects, ...missing] };
}

export function bootstrapClusterRoles(): New<ClusterRole>[] {
  const controllers = Object.entries(controllerRoleTexts).map(([name, texts]) => ({
    metadata: metadataOf(`${controllerPrefix}${name}`),
    rules: texts.map(parseRule),
  }));
  const plain = Object.entries(clusterRoleTexts).map(([name, texts]) => ({
    metadata: metadataOf(name, partLabels(name)),
    rules: texts.map(parseRule),
  }));
  const aggregated = aggregatedRoles.map(({ name, partOf }) => ({
    metadata: metadataOf(name, aggregateLabel(partOf)),
    aggregationRule: { clusterRoleSelectors: [{ matchLabels: aggregateLabel(name) }] },
    rules: aggregatedTexts(name).map(parseRule),
  }));
  return [...plain, ...aggregated, ...controllers];
}

export const bootstrapRoles = (): New<Role>[] =>
  Object.entries(roleTexts).map(([key, texts]) => ({ metadata: namespaced(key), rules: texts.map(parseRule) }));

export function bootstrapClusterRoleBindings(): New<ClusterRoleBinding>[] {
  const controllers: [string, readonly string[]][] = Object.keys(controllerRoleTexts).map((name) => [
    `${controllerPrefix}${name}`,
    [`ServiceAccount kube-system/${name}`],
  ]);
  return [...Object.entries(clusterBindingTexts), ...controllers].map(([name, subjects]) => ({
    metadata: metadataOf(name),
    roleRef: { apiGroup: rbacGroup, kind: "ClusterRole", name },
    ...(subjects.length > 0 ? { subjects: subjects.map(parseSubject) } : {}),
  }));
}

export const bootstrapRoleBindings = (): New<RoleBinding>[] =>
  Object.entries(bindingTexts).map(([key, [role, ...subjects]]) => ({
    metadata: namespaced(key),
    roleRef: { apiGroup: rbacGroup, kind: "Role", name: role },
    subjects: subjects.map(parseSubject),
  }));

/** The rules of nodes, before the node authoriser limits them to their own objects. */
export const nodeRules = (): PolicyRule[] => rulesOf(clusterRoleTexts, "system:node");

/** So that a new cluster need not wait for the controller: edit includes view, admin includes edit. */
function aggregatedTexts(name: string): readonly RuleText[] {
  const inner = aggregatedRoles.find(({ partOf }) => partOf === name);
  const own = [`system:aggregate-to-${name}`, metricsReader].flatMap((role) => clusterRoleTexts[role] ?? []);
  if (!inner) return own;
  const taken = aggregatedTexts(inner.name);
  // In the order of the names of the source roles, each rule once.
  return [...new Set(inner.name < metricsReader ? [...taken, ...own] : [...own, ...taken])];
}

const rulesOf = (texts: RoleTexts, name: string): PolicyRule[] => (texts[name] ?? []).map(parseRule);

/** Says of which aggregated roles a role is a part. */
function partLabels(role: string): Record<string, string> {
  if (role === metricsReader) return Object.assign({}, ...aggregatedRoles.map(({ name }) => aggregateLabel(name)));
  return aggregateLabel(/^system:aggregate-to-(\w+)$/.exec(role)?.[1]);
}

const aggregateLabel = (role: string | undefined): Record<string, string> =>
  role ? { [`rbac.authorization.k8s.io/aggregate-to-${role}`]: "true" } : {};

const metadataOf = (name: string, labels: Record<string, string> = {}) => ({
  name,
  labels: { "kubernetes.io/bootstrapping": "rbac-defaults", ...labels },
  annotations: { [autoUpdate]: "true" },
});

function namespaced(key: string) {
  const [namespace = "", name = ""] = key.split("/");
  return { ...metadataOf(name), namespace };
}

const verbSets: Readonly<Record<string, readonly string[]>> = {
  read: ["get", "list", "watch"],
  write: ["create", "delete", "deletecollection", "patch", "update"],
};

function parseRule(text: RuleText): PolicyRule {
  const [verbText = [], second = [], third, names] = text.split(" | ").map((part) => part.split(" "));
  const verbs = verbText.flatMap((verb) => verbSets[verb] ?? [verb]).sort();
  if (!third) return { verbs, nonResourceURLs: second };
  const apiGroups = second.map((group) => (group === "core" ? "" : group));
  return { verbs, apiGroups, resources: third, ...(names ? { resourceNames: names } : {}) };
}

function parseSubject(text: string): Subject {
  const [kind = "", target = ""] = text.split(" ");
  if (kind !== "ServiceAccount") return { kind, apiGroup: rbacGroup, name: target };
  const [namespace = "", name = ""] = target.split("/");
  return { kind, name, namespace };
}
