import assert from "node:assert/strict";
import { test } from "node:test";
import { identityHeaders } from "./identity-headers.ts";

test("identityHeaders() says everything about a user in headers", () => {
  const extra = { "example.com/Scopes %": ["a", "b"], empty: [] };

  assert.deepEqual(identityHeaders({ name: "jane", uid: "7", groups: ["dev", "a, b"], extra }), {
    "x-remote-user": "jane",
    "x-remote-uid": "7",
    "x-remote-group": ["dev", "a, b"],
    "x-remote-extra-example.com%2FScopes%20%25": ["a", "b"],
  });
  assert.deepEqual(identityHeaders({ name: "x", groups: [] }), { "x-remote-user": "x" });
});

test("identityHeaders() writes other letters as bytes of UTF-8", () => {
  const { "x-remote-user": name } = identityHeaders({ name: "jürgen", groups: [] });

  assert.equal(Buffer.from(String(name), "latin1").toString(), "jürgen");
});
