import assert from "node:assert/strict";
import { test } from "node:test";
import { anonymous, anonymousUser } from "./anonymous.ts";
import { request } from "./authenticate.suite.ts";
import { bearer, bearerToken } from "./bearer.ts";
import { identify } from "./chain.ts";

test("bearerToken() reads the header and the WebSocket protocol", () => {
  const encoded = Buffer.from("se.cr.et").toString("base64url");
  const protocols = `v5.channel.k8s.io, base64url.bearer.authorization.k8s.io.${encoded}`;

  assert.equal(bearerToken({ headers: { authorization: "Bearer  " } }), undefined);
  assert.equal(bearerToken({ headers: { authorization: "Basic abc" } }), undefined);
  assert.equal(bearerToken({ headers: { authorization: "BEARER abc" } }), "abc");
  assert.equal(bearerToken({ headers: { "sec-websocket-protocol": protocols } }), "se.cr.et");
});

test("bearer() passes only the token on, and refuses an unknown one", () => {
  const jane = { name: "jane", groups: [] };
  const authenticator = bearer({
    name: "one token",
    authenticateToken: (token) => (token === "good" ? { user: jane, audiences: [] } : undefined),
  });
  const ask = (authorization: string) =>
    identify([authenticator, anonymous()], request({ headers: { authorization } }));

  assert.equal(ask("Bearer good"), jane);
  assert.throws(() => ask("Bearer bad"), { code: 401 });
  assert.equal(identify([authenticator, anonymous()], request()), anonymousUser);
});
