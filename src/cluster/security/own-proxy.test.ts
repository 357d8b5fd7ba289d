import assert from "node:assert/strict";
import { test } from "node:test";
import { withOwnProxy } from "./own-proxy.ts";

const configured = (allowedNames: readonly string[]) => ({
  ca: "THEIRS",
  options: { usernameHeaders: ["X-User"], uidHeaders: [], groupHeaders: [], extraPrefixes: [], allowedNames },
});

test("withOwnProxy() lets extension servers believe this server and the configured proxies", () => {
  const alone = withOwnProxy(undefined, "OURS");
  const both = withOwnProxy(configured(["front"]), "OURS");

  assert.deepEqual([alone.ca.trim(), alone.options.allowedNames], ["OURS", ["front-proxy-client"]]);
  assert.deepEqual([both.ca, both.options.allowedNames], ["THEIRS\nOURS", ["front", "front-proxy-client"]]);
  assert.deepEqual(withOwnProxy(configured([]), "OURS").options.allowedNames, [], "any name is allowed");
});

test("withOwnProxy() names only headers that callers of this server cannot set", () => {
  const { usernameHeaders, uidHeaders, groupHeaders, extraPrefixes } = withOwnProxy(configured([]), "OURS").options;

  assert.deepEqual([usernameHeaders, uidHeaders], [["X-Remote-User"], ["X-Remote-Uid"]]);
  assert.deepEqual([groupHeaders, extraPrefixes], [["X-Remote-Group"], ["X-Remote-Extra-"]]);
});
