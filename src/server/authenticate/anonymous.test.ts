import assert from "node:assert/strict";
import { test } from "node:test";
import { anonymous, anonymousUser } from "./anonymous.ts";
import { request } from "./authenticate.suite.ts";
import { identify } from "./chain.ts";

test("anonymous() can be limited to some paths", () => {
  const limited = [anonymous({ paths: ["/livez"] })];

  assert.equal(identify(limited, request({ path: "/livez" })), anonymousUser);
  assert.throws(() => identify(limited, request()), { code: 401 });
});
