import assert from "node:assert/strict";
import { test } from "node:test";
import { request } from "./authenticate.suite.ts";
import { requestHeader } from "./request-header.ts";

const options = {
  usernameHeaders: ["X-Remote-User", "X-Other-User"],
  uidHeaders: ["X-Remote-Uid"],
  groupHeaders: ["X-Remote-Group"],
  extraPrefixes: ["X-Remote-Extra-"],
  allowedNames: ["front"],
};

/** Sends each pair as a header of its own, from a proxy with this name. */
function ask(sent: readonly (readonly [name: string, value: string])[], commonName: string | undefined = "front") {
  const headers: Record<string, string> = {};
  for (const [name, value] of sent) {
    const key = name.toLowerCase();
    headers[key] = headers[key] === undefined ? value : `${headers[key]}, ${value}`;
  }
  const frontProxy = commonName === undefined ? {} : { frontProxy: { commonName, notAfterMs: 0 } };
  const asked = request({ headers, rawHeaders: sent.flat(), peer: { address: "", ...frontProxy } });
  return { user: requestHeader(options).authenticate(asked), headers };
}

test("requestHeader() takes the user from the headers of a proxy, and removes them", () => {
  const { user, headers } = ask([
    ["X-Remote-User", "jane"],
    ["x-remote-group", "dev"],
    ["X-Remote-Group", "ops, system:masters"],
    ["X-Remote-Uid", "7"],
    ["X-Remote-Extra-Acme.com%2FTeam", "red"],
    ["X-Remote-Extra-Acme.com%2fteam", "blue"],
    ["Accept", "*/*"],
  ]);

  assert.deepEqual(user, {
    name: "jane",
    groups: ["dev", "ops, system:masters"],
    uid: "7",
    extra: { "acme.com/team": ["red", "blue"] },
  });
  assert.deepEqual(headers, { accept: "*/*" });
});

test("requestHeader() takes the first name, and the next header if the first is empty", () => {
  assert.equal(
    (
      ask([
        ["X-Remote-User", "jane"],
        ["X-Remote-User", "root"],
      ]).user as { name: string }
    ).name,
    "jane",
  );
  assert.equal(
    (
      ask([
        ["X-Remote-User", ""],
        ["X-Other-User", "joe"],
      ]).user as { name: string }
    ).name,
    "joe",
  );
  assert.equal(ask([["X-Remote-Group", "system:masters"]]).user, undefined);
});

test("requestHeader() ignores the headers of everybody else", () => {
  const smuggled = [
    ["X-Remote-User", "root"],
    ["X-Remote-Group", "system:masters"],
  ] as const;
  const peer = { address: "", certificate: { commonName: "front", organizations: [] } };
  const headers = { "x-remote-user": "root" };

  assert.equal(requestHeader(options).authenticate(request({ headers, peer })), undefined);
  assert.equal(requestHeader(options).authenticate(request({ headers })), undefined);
  assert.throws(() => ask(smuggled, "somebody"), { code: 401 });
});
