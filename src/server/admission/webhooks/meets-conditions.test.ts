import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigMap } from "#api/core/config-map.ts";
import { Slice } from "#lib/async/turns.ts";
import { type Authorizer } from "#server/authorize/authorizer.ts";
import { requestFor } from "../admission.suite.ts";
import { asSent } from "../matching/sent-request.ts";
import { type Hook, type Webhook } from "./hook.ts";
import { meetsConditions } from "./meets-conditions.ts";

const asked: string[] = [];
/** Takes its time, and allows everything to authenticated users. */
const authorizer: Authorizer = {
  name: "slow",
  async authorize({ name, groups }) {
    asked.push(`${name} ${groups.join(" ")}`);
    return { verdict: groups.includes("system:authenticated") ? "allow" : "no opinion", reason: "" };
  },
};

function meets(expressions: readonly string[], failurePolicy: Webhook["failurePolicy"] = "Fail"): Promise<boolean> {
  const matchConditions = expressions.map((expression, index) => ({ name: `c${index}`, expression }));
  const hook = { id: "a/b", configuration: "a", webhook: { failurePolicy, matchConditions } } as unknown as Hook;
  const sent = asSent(requestFor(ConfigMap, { metadata: { name: "x" } }), (_, object) => object);
  return meetsConditions(
    { authorizers: [authorizer], type: "admit" },
    { hook, view: sent, original: sent, slice: new Slice() },
  );
}

test("meetsConditions() waits for authorizers and asks them once, for a service account in its own groups", async () => {
  const mayGet = "authorizer.serviceAccount('shop', 'till').path('/healthz').check('get').allowed()";
  asked.length = 0;

  assert.equal(await meets([mayGet]), false);
  assert.equal(await meets([`!${mayGet}`, `!${mayGet}`]), true);
  const groups = "system:serviceaccounts system:serviceaccounts:shop";
  const question = `system:serviceaccount:shop:till ${groups}`;
  assert.deepEqual(asked, [question, question]);
});

test("meetsConditions() sees the request, but not its namespace", async () => {
  assert.equal(await meets(["object.metadata.name == 'x' && request.resource.resource == 'configmaps'"]), true);
  assert.equal(await meets(["namespaceObject == null"]), true);
});

const listOf = (count: number) => `[${Array.from({ length: count }, (_, index) => index).join(",")}]`;
const costly = `${listOf(100)}.all(a, ${listOf(100)}.all(b, ${listOf(5)}.all(c, a + b + c >= 0)))`;
const undecided: readonly (readonly [name: string, expressions: readonly string[], says: RegExp])[] = [
  ["gives no bool", ["object.metadata"], /: compilation error: must evaluate to bool but got dyn$/],
  [
    "fails",
    ["object.a == 1"],
    /^configmaps "x" is forbidden: expression 'object.a == 1' resulted in error: no such key/,
  ],
  ["is one of many that fail", ["object.a == 1", "object.b == 1"], /: \[expression .*, expression .*\]$/],
  ["costs too much with all others", Array.from({ length: 64 }, () => costly), /running out of cost budget/],
];
for (const [name, expressions, says] of undecided) {
  test(`meetsConditions() leaves it to the failure policy if a condition ${name}`, async () => {
    await assert.rejects(meets(expressions), { code: 403, message: says });
    assert.equal(await meets(expressions, "Ignore"), false);
  });
}

test("meetsConditions() is false if one condition is, whatever the others say", async () => {
  assert.equal(await meets(["object.a == 1", "false"]), false);
});
