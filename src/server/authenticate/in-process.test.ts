import assert from "node:assert/strict";
import { test } from "node:test";
import { anonymous } from "./anonymous.ts";
import { request } from "./authenticate.suite.ts";
import { identify } from "./chain.ts";
import { inProcess } from "./in-process.ts";

test("a caller in this process needs no credential", () => {
  const user = { name: "system:kube-scheduler", groups: [] };

  assert.equal(identify([inProcess, anonymous()], request({ peer: { address: "", user } })), user);
});
