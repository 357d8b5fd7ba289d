import assert from "node:assert/strict";
import { test } from "node:test";
import { blankRequestInfo } from "#server/request/request-info.ts";
import { compileConditions } from "./match-conditions.ts";
import { reviewSpecOf } from "./review-spec.ts";

const user = { name: "jane", groups: ["dev"], extra: { "example.org/team": ["a"] } };
const pods = {
  ...blankRequestInfo,
  isResource: true,
  verb: "list",
  version: "v1",
  resource: "pods",
  namespace: "shop",
};
const spec = reviewSpecOf(user, { ...pods, labelSelector: "app=web", fieldSelector: "spec.nodeName=n1" });
const match = async (...expressions: string[]) =>
  await compileConditions(expressions.map((expression) => ({ expression })))(spec);

const cases: readonly [expression: string, matches: boolean][] = [
  ["has(request.resourceAttributes) && !has(request.nonResourceAttributes)", true],
  ["request.resourceAttributes.namespace == 'shop' && request.resourceAttributes.name == ''", true],
  ["request.user == 'jane' && 'dev' in request.groups && request.uid == ''", true],
  ["request.extra['example.org/team'] == ['a']", true],
  ["request.resourceAttributes.labelSelector.requirements[0].key == 'app'", true],
  ["request.resourceAttributes.fieldSelector.requirements.exists(r, r.values == ['n1'])", true],
  ["request.resourceAttributes.namespace.startsWith('kube-')", false],
];
for (const [expression, matches] of cases) {
  test(`a condition can say ${expression}`, async () => assert.deepEqual(await match(expression), { matches }));
}

test("one condition that does not hold decides, also if others fail", async () => {
  const fails = "request.nonResourceAttributes.path == '/'";

  assert.deepEqual(await match(fails, "false"), { matches: false });
  assert.deepEqual(await match("true", fails), {
    error: `cel evaluation error: expression '${fails}' resulted in error: no such key: nonResourceAttributes`,
  });
});

test("conditions that take long let other work run, and end at their cost", async () => {
  const digits = "[0,1,2,3,4,5,6,7,8,9]";
  const nested = (count: number) => {
    const variables = Array.from({ length: count }, (_, index) => `v${index}`);
    return `${variables.map((name) => `${digits}.all(${name}, `).join("")}true${")".repeat(count)}`;
  };

  const long = compileConditions(
    Array.from({ length: 4 }, (_, index) => ({ expression: `${nested(5)} && ${index} < 9` })),
  )(spec);
  assert(long instanceof Promise);
  assert.deepEqual(await long, { matches: true });
  assert.match(JSON.stringify(await match(nested(7))), /cost limit exceeded/);
});
