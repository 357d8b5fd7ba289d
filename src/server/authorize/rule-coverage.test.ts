import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type PolicyRule } from "#api/rbac/policy-rule.ts";
import { describeMissing, uncoveredRules } from "./rule-coverage.ts";

const some = (...values: string[]) => fc.subarray(values, { minLength: 1 });
const resourceRule = fc.record({
  verbs: some("get", "list", "*"),
  apiGroups: some("", "apps", "*"),
  resources: some("pods", "pods/log", "*/log", "*"),
  resourceNames: fc.subarray(["a", "b"]),
});
const pathRule = fc.record({ verbs: some("get", "post", "*"), nonResourceURLs: some("/a", "/a/*", "/a/b", "*") });
const rules = fc.array(fc.oneof(resourceRule, pathRule), { maxLength: 4 });

test("uncoveredRules() finds the same as comparing every combination", () => {
  fc.assert(
    fc.property(rules, rules, (held, wanted) => {
      const { missing, gaveUp } = uncoveredRules(held, wanted);

      const expected = [...wanted].flatMap(pieces).filter((piece) => !held.some((own) => covers(own, piece)));
      assert.equal(gaveUp, false);
      assert.deepEqual(textsOf(missing.flatMap(pieces)), textsOf(expected));
    }),
    { numRuns: 2000 },
  );
});

const textsOf = (found: readonly PolicyRule[]): string[] =>
  [...new Set(found.map(({ verbs, ...rest }) => JSON.stringify({ verbs, ...rest })))].sort();

/** Like upstream: every combination of verb, group, resource and name separately. */
function pieces({ verbs, apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] }: PolicyRule) {
  const names = resourceNames.length > 0 ? resourceNames.map((name) => ({ resourceNames: [name] })) : [{}];
  return verbs.flatMap((verb): PolicyRule[] => [
    ...nonResourceURLs.map((url) => ({ verbs: [verb], nonResourceURLs: [url] })),
    ...apiGroups.flatMap((group) =>
      resources.flatMap((resource) =>
        names.map((name) => ({ verbs: [verb], apiGroups: [group], resources: [resource], ...name })),
      ),
    ),
  ]);
}

function covers(own: PolicyRule, piece: PolicyRule): boolean {
  const has = (list: readonly string[] = [], value = ""): boolean => list.includes("*") || list.includes(value);
  if (!has(own.verbs, piece.verbs[0])) return false;
  const [url] = piece.nonResourceURLs ?? [];
  if (url !== undefined) {
    const covering = (pattern: string) => pattern.endsWith("*") && url.startsWith(pattern.slice(0, -1));
    return (own.nonResourceURLs ?? []).some((pattern) => pattern === url || covering(pattern));
  }
  const [resource = ""] = piece.resources ?? [];
  const part = resource.includes("/") ? `*/${resource.split("/")[1]}` : resource;
  const { resourceNames: names = [] } = own;
  const [name] = piece.resourceNames ?? [];
  return (
    has(own.apiGroups, piece.apiGroups?.[0]) &&
    (has(own.resources, resource) || has(own.resources, part)) &&
    (names.length === 0 || (name !== undefined && names.includes(name)))
  );
}

const many = (count: number, prefix: string): string[] => Array.from({ length: count }, (_, at) => `${prefix}${at}`);

test("uncoveredRules() needs as many steps for a rule of 40 million combinations as it has values", () => {
  const [verbs, apiGroups, resources, resourceNames] = ["v", "g", "r", "n"].map((prefix) => many(80, prefix));
  const rule = { verbs: verbs ?? [], apiGroups: apiGroups ?? [], resources: resources ?? [], resourceNames };
  const wanted = [{ ...rule, resourceNames: resourceNames ?? [] }];
  const steps = 2000;

  const none = uncoveredRules([{ verbs: ["get"], apiGroups: [""], resources: ["pods"] }], wanted, steps);
  const all = uncoveredRules([{ verbs: ["*"], apiGroups: ["*"], resources: ["*"] }], wanted, steps);

  assert.deepEqual(none, { missing: wanted, gaveUp: false });
  assert.deepEqual(all, { missing: [], gaveUp: false });
});

test("uncoveredRules() gives up on rules that differ in every combination, and then covers nothing", () => {
  const values = many(60, "x");
  const held = values.map((_, at): PolicyRule => {
    const without = (other: number) => values.filter((_value, index) => index % 7 !== (at + other) % 7);
    return { verbs: without(0), apiGroups: without(1), resources: without(2), resourceNames: without(3) };
  });
  const wanted = [{ verbs: values, apiGroups: values, resources: values, resourceNames: values }];

  const { missing, gaveUp } = uncoveredRules(held, wanted, 10_000);

  assert(gaveUp);
  assert(missing.length < 1000);
});

test("describeMissing() prints a line for each resource, up to a hundred", () => {
  const box = { verbs: ["get", "list"], apiGroups: [""], resources: ["pods", "secrets"] };

  assert.deepEqual(describeMissing([box]), [
    '{APIGroups:[""], Resources:["pods"], Verbs:["get" "list"]}',
    '{APIGroups:[""], Resources:["secrets"], Verbs:["get" "list"]}',
  ]);
  const lines = describeMissing([{ ...box, apiGroups: many(100_000, "g"), resources: many(100_000, "r") }]);
  assert.equal(lines.length, 101);
  assert.equal(lines.at(-1), "and more");
});
