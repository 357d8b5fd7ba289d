import { matches } from "#api/meta/selector-matchers.ts";
import { ClusterRole } from "#api/rbac/cluster-role.ts";
import { type PolicyRule } from "#api/rbac/policy-rule.ts";
import { equal } from "#lib/data/equal.ts";
import { type Reconciler, type ReconcilerDeps, watch } from "#runtime/reconciler.ts";

/** Gives aggregated roles the rules of the roles that they select. */
export function clusterRoleAggregationController({ client, informers }: ReconcilerDeps): Reconciler<ClusterRole> {
  const roles = informers.of(ClusterRole);
  return {
    name: "clusterrole-aggregation",
    reconciles: ClusterRole,
    watches: [
      watch(ClusterRole, () =>
        roles.list().flatMap(({ aggregationRule, metadata }) => (aggregationRule ? metadata : [])),
      ),
    ],

    async reconcile(role, signal) {
      if (!role.aggregationRule) return;
      const rules = aggregateRules(role, roles.list());
      if (equal(rules, role.rules)) return;
      await client.apply(
        ClusterRole,
        { metadata: { name: role.metadata.name }, rules },
        { fieldManager: "clusterrole-aggregation-controller", force: true, signal },
      );
    },
  };
}

/** The rules of all roles that one of the selectors matches, by selector and name, without duplicates. */
export function aggregateRules(role: ClusterRole, all: readonly ClusterRole[]): PolicyRule[] {
  const rules: PolicyRule[] = [];
  const sorted = all.toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
  for (const selector of role.aggregationRule?.clusterRoleSelectors ?? []) {
    for (const other of sorted) {
      if (other.metadata.name === role.metadata.name || !matches(selector, other.metadata.labels)) continue;
      for (const rule of other.rules) if (!rules.some((known) => equal(known, rule))) rules.push(rule);
    }
  }
  return rules;
}
