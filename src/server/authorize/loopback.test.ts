import assert from "node:assert/strict";
import { test } from "node:test";
import { blankRequestInfo } from "#server/request/request-info.ts";
import { createLoopback } from "./loopback.ts";

const info = { ...blankRequestInfo, verb: "delete", isResource: true, resource: "nodes" };

test("createLoopback() allows everything to its own user, but not to others of that name", async () => {
  const { user, authorizer } = createLoopback();
  const ask = async (who: typeof user) => (await authorizer.authorize(who, info)).verdict;

  assert.equal(await ask(user), "allow");
  assert.equal(await ask({ ...user }), "no opinion");
  assert.equal(await ask(createLoopback().user), "no opinion");
});

test("createLoopback() returns an immutable user", () => {
  const { user } = createLoopback();

  assert.throws(() => Object.assign(user, { groups: ["system:masters"] }), TypeError);
  assert(Object.isFrozen(user.groups));
});
