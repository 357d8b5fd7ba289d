import assert from "node:assert/strict";
import { test } from "node:test";
import { type UserInfo } from "#api/exchange.ts";
import { type Authorizer } from "#server/authorize/authorizer.ts";
import { impersonate } from "#server/authorize/impersonate.ts";
import { blankRequestInfo } from "#server/request/request-info.ts";
import { contextOf, done } from "./authenticate.suite.ts";

const asked: string[] = [];
/** Allows what its function says, and notes the questions. */
const allowing = (allows: (text: string) => boolean): Authorizer => ({
  name: "recording",
  authorize(_user, { verb, group, resource, subresource, namespace, name }) {
    const text = `${verb} ${group}/${resource}/${subresource} ${namespace} ${name}`;
    asked.push(text);
    return { verdict: allows(text) ? "allow" : "no opinion", reason: "" };
  },
});
const legacy = allowing((text) => text.startsWith("impersonate /") || text.startsWith("impersonate auth"));

type Sent = readonly (readonly [name: string, value: string])[];

/** Sends each pair as a header of its own. */
const actAs = async (sent: Sent, authorizer = legacy, requester: UserInfo = { name: "admin", groups: [] }) => {
  asked.length = 0;
  const headers: Record<string, string> = {};
  for (const [name, value] of sent) headers[name] = headers[name] === undefined ? value : `${headers[name]}, ${value}`;
  const rawHeaders = sent.flatMap(([name, value]) => [name.toUpperCase(), value]);
  const context = contextOf({ headers, rawHeaders }, requester);
  const info = { ...blankRequestInfo, isResource: true, verb: "get", resource: "pods", namespace: "shop", name: "web" };
  await impersonate([authorizer])({ ...context, info }, (after) => {
    context.user = after.user;
    return done;
  });
  return context.user;
};
const jane = ["impersonate-user", "jane"] as const;

test("impersonate() authorises every impersonated attribute", async () => {
  const user = await actAs([
    jane,
    ["impersonate-group", "dev"],
    ["impersonate-group", "ops, system:masters"],
    ["impersonate-uid", "42"],
    ["impersonate-extra-scopes", "view"],
    ["impersonate-extra-acme.com%2fproject", "x"],
  ]);

  assert.deepEqual(asked, [
    "impersonate-on:user-info:get /pods/ shop web",
    "impersonate /users/  jane",
    "impersonate authentication.k8s.io/uids/  42",
    "impersonate /groups/  dev",
    "impersonate /groups/  ops, system:masters",
    "impersonate authentication.k8s.io/userextras/scopes  view",
    "impersonate authentication.k8s.io/userextras/acme.com/project  x",
  ]);
  assert.deepEqual(user, {
    name: "jane",
    groups: ["dev", "ops, system:masters", "system:authenticated"],
    uid: "42",
    extra: { scopes: ["view"], "acme.com/project": ["x"] },
  });
});

test("impersonate() takes the first of several users, and nothing from a header that looks like another", async () => {
  const user = await actAs([jane, ["impersonate-user", "root"], ["impersonate-extra-group", "system:masters"]]);

  assert.equal(user.name, "jane");
  assert.deepEqual(user.groups, ["system:authenticated"]);
  assert.deepEqual(user.extra, { group: ["system:masters"] });
});

test("impersonate() authorises an extra of any name, and impersonates nothing else", async () => {
  const user = await actAs([jane, ["impersonate-extra-__proto__", "x"]]);

  assert.ok(asked.includes("impersonate authentication.k8s.io/userextras/__proto__  x"));
  assert.deepEqual(Object.entries(user.extra ?? {}), [["__proto__", ["x"]]]);
});

test("impersonate() adds the groups of a service account", async () => {
  const user = await actAs([["impersonate-user", "system:serviceaccount:shop:web"]]);

  assert.ok(asked.includes("impersonate /serviceaccounts/ shop web"));
  assert.deepEqual(user.groups, ["system:serviceaccounts", "system:serviceaccounts:shop", "system:authenticated"]);
});

test("impersonate() refuses what is not allowed, and groups without a user", async () => {
  await assert.rejects(
    actAs(
      [jane],
      allowing(() => false),
    ),
    {
      code: 403,
      message:
        'pods "web" is forbidden: User "admin" cannot impersonate-on:user-info:get resource "pods" in API group "" in the namespace "shop"',
    },
  );
  await assert.rejects(async () => actAs([["impersonate-group", "a"]]), {
    code: 400,
    message:
      'requested &user.DefaultInfo{Name:"", UID:"", Groups:[]string{"a"}, Extra:map[string][]string(nil)} without impersonating a user name',
  });
});

test("impersonate() leaves other requests alone", async () => {
  assert.equal((await actAs([["accept", "application/json"]])).name, "admin");
  assert.deepEqual((await actAs([["impersonate-user", "system:anonymous"]])).groups, ["system:unauthenticated"]);
});

const pod: UserInfo = {
  name: "system:serviceaccount:shop:agent",
  groups: [],
  extra: { "authentication.kubernetes.io/node-name": ["n1"], "authentication.kubernetes.io/pod-name": ["p"] },
};
const constrained: readonly (readonly [name: string, user: string, rights: readonly string[], groups: string[]])[] = [
  [
    "the node of a pod",
    "system:node:n1",
    [
      "impersonate-on:associated-node:get /pods/ shop web",
      "impersonate:associated-node authentication.k8s.io/nodes/  *",
    ],
    ["system:nodes", "system:authenticated"],
  ],
  [
    "any node",
    "system:node:n2",
    [
      "impersonate-on:arbitrary-node:get /pods/ shop web",
      "impersonate:arbitrary-node authentication.k8s.io/nodes/  n2",
    ],
    ["system:nodes", "system:authenticated"],
  ],
  [
    "a service account",
    "system:serviceaccount:shop:web",
    [
      "impersonate-on:serviceaccount:get /pods/ shop web",
      "impersonate:serviceaccount authentication.k8s.io/serviceaccounts/ shop web",
    ],
    ["system:serviceaccounts", "system:serviceaccounts:shop", "system:authenticated"],
  ],
  [
    "a user",
    "jane",
    ["impersonate-on:user-info:get /pods/ shop web", "impersonate:user-info authentication.k8s.io/users/  jane"],
    ["system:authenticated"],
  ],
];
for (const [name, user, rights, groups] of constrained) {
  test(`impersonate() lets those act as ${name} for one kind of request who have both rights`, async () => {
    const as = (allowed: readonly string[]) =>
      actAs(
        [["impersonate-user", user]],
        allowing((text) => allowed.includes(text)),
        pod,
      );

    assert.deepEqual((await as(rights)).groups, groups);
    for (const right of rights) await assert.rejects(as([right]), { code: 403 });
  });
}

test("impersonate() lets nobody be a member of system:masters with constrained rights", async () => {
  const notLegacy = allowing((text) => !text.startsWith("impersonate "));

  await assert.rejects(actAs([jane, ["impersonate-group", "system:masters"]], notLegacy), {
    message: /impersonating the system:masters group is not allowed$/,
  });
  await assert.rejects(actAs([jane, ["impersonate-group", ""]], notLegacy), { message: /empty string group/ });
  await assert.rejects(actAs([jane, ["impersonate-extra-plain", "x"]], notLegacy), { message: /invalid key in extra/ });
  assert.ok(await actAs([jane, ["impersonate-extra-acme.io%2Fa", "x"]], notLegacy));
});

test("impersonate() asks for all groups at once before it asks for many", async () => {
  const groups: Sent = ["a", "b", "c", "d"].map((name) => ["impersonate-group", name]);
  const user = await actAs(
    [jane, ...groups],
    allowing((text) => !text.startsWith("impersonate ")),
  );

  assert.deepEqual(user.groups, ["a", "b", "c", "d", "system:authenticated"]);
  assert.deepEqual(
    asked.filter((text) => text.includes("/groups/")),
    ["impersonate:user-info authentication.k8s.io/groups/  *"],
  );
});
