import assert from "node:assert/strict";
import { test } from "node:test";
import { type Authorizer } from "#server/authorize/authorizer.ts";
import { impersonate } from "#server/authorize/impersonate.ts";
import { contextOf, done } from "./authenticate.suite.ts";

const asked: string[] = [];
const recording: Authorizer = {
  name: "recording",
  authorize(_user, { verb, group, resource, subresource, namespace, name }) {
    asked.push(`${verb} ${group}/${resource}/${subresource} ${namespace} ${name}`);
    return { verdict: name === "forbidden" ? "no opinion" : "allow", reason: "" };
  },
};

const actAs = async (headers: Record<string, string>) => {
  asked.length = 0;
  const context = contextOf({ headers }, { name: "admin", groups: [] });
  await impersonate([recording])(context, () => done);
  return context.user;
};

test("impersonate() authorises every impersonated attribute", async () => {
  const user = await actAs({
    "impersonate-user": "jane",
    "impersonate-group": "dev, ops",
    "impersonate-uid": "42",
    "impersonate-extra-scopes": "view",
    "impersonate-extra-acme.com%2fproject": "x",
  });

  assert.deepEqual(asked, [
    "impersonate /users/  jane",
    "impersonate /groups/  dev",
    "impersonate /groups/  ops",
    "impersonate authentication.k8s.io/userextras/scopes  view",
    "impersonate authentication.k8s.io/userextras/acme.com/project  x",
    "impersonate authentication.k8s.io/uids/  42",
  ]);
  assert.deepEqual(user, {
    name: "jane",
    groups: ["dev", "ops", "system:authenticated"],
    uid: "42",
    extra: { scopes: ["view"], "acme.com/project": ["x"] },
  });
});

test("impersonate() authorises an extra of any name, and impersonates nothing else", async () => {
  const user = await actAs({ "impersonate-user": "jane", "impersonate-extra-__proto__": "x" });

  assert.deepEqual(asked, ["impersonate /users/  jane", "impersonate authentication.k8s.io/userextras/__proto__  x"]);
  assert.deepEqual(Object.entries(user.extra ?? {}), [["__proto__", ["x"]]]);
});

test("impersonate() adds the groups of a service account", async () => {
  const user = await actAs({ "impersonate-user": "system:serviceaccount:shop:web" });

  assert.deepEqual(asked, ["impersonate /serviceaccounts/ shop web"]);
  assert.deepEqual(user.groups, ["system:serviceaccounts", "system:serviceaccounts:shop", "system:authenticated"]);
});

test("impersonate() refuses what is not allowed, and groups without a user", async () => {
  await assert.rejects(actAs({ "impersonate-user": "forbidden" }), {
    message:
      'users "forbidden" is forbidden: User "admin" cannot impersonate resource "users" in API group "" at the cluster scope',
  });
  await assert.rejects(async () => actAs({ "impersonate-group": "a" }), {
    message: "requested [group a] without impersonating a user",
  });
});

test("impersonate() leaves other requests alone", async () => {
  assert.equal((await actAs({ accept: "application/json" })).name, "admin");
  assert.deepEqual((await actAs({ "impersonate-user": "system:anonymous" })).groups, ["system:unauthenticated"]);
});
