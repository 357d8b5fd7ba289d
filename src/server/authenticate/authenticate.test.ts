import assert from "node:assert/strict";
import { test } from "node:test";
import { type ApiRequest, type UserInfo } from "#api/exchange.ts";
import { unauthorized } from "#api/status.ts";
import { type Authorizer } from "#server/authorize/authorizer.ts";
import { impersonate } from "#server/authorize/impersonate.ts";
import { type Context } from "#server/request/pipeline.ts";
import { blankRequestInfo } from "#server/request/request-info.ts";
import { anonymous, anonymousUser } from "./anonymous.ts";
import { type Authenticator } from "./authenticator.ts";
import { bearer, bearerToken } from "./bearer.ts";
import { authenticate, identify, withAuthenticatedGroup } from "./chain.ts";
import { clientCertificate } from "./client-certificate.ts";
import { inProcess } from "./in-process.ts";
import { loadTokenFile, parseTokenFile, tokenFile } from "./token-file.ts";

const request = (part: Partial<ApiRequest> = {}): ApiRequest => ({
  method: "GET",
  path: "/api/v1/pods",
  query: "",
  headers: {},
  body: undefined,
  signal: new AbortController().signal,
  peer: { address: "127.0.0.1" },
  ...part,
});
const contextOf = (part: Partial<ApiRequest>, user: UserInfo = { name: "", groups: [] }): Context => ({
  request: request(part),
  info: { ...blankRequestInfo, verb: "get", path: "/" },
  query: new URLSearchParams(),
  trace: { traceId: "", spanId: "" },
  user,
  warnings: [],
  annotations: new Map(),
  steps: { mark() {} },
});
const done = { type: "value", status: 200, value: {} } as const;

const tokens = tokenFile(parseTokenFile('secret,jane,1,"dev,ops"\n', "tokens.csv"));
const chain: Authenticator[] = [inProcess, clientCertificate, bearer(tokens), anonymous()];

test("the first identity wins and joins system:authenticated", async () => {
  const context = contextOf({ headers: { authorization: "Bearer secret" } });
  await authenticate(chain)(context, () => done);

  assert.deepEqual(context.user, { name: "jane", uid: "1", groups: ["dev", "ops", "system:authenticated"] });
});

test("the same identity is the same object, so that later stages can remember by it", () => {
  const peer = { address: "", certificate: { commonName: "jane", organizations: ["dev"] } };
  const first = identify(chain, request({ peer }));
  const second = identify(chain, request({ peer }));

  assert.equal(first, second);
  assert(!(first instanceof Promise) && !(second instanceof Promise));
  assert.equal(withAuthenticatedGroup(first), withAuthenticatedGroup(second));
});

test("a caller in this process needs no credential", () => {
  const user = { name: "system:kube-scheduler", groups: [] };

  assert.equal(identify(chain, request({ peer: { address: "", user } })), user);
});

test("who shows nothing is anonymous and does not join system:authenticated", async () => {
  const context = contextOf({});
  await authenticate(chain)(context, () => done);

  assert.equal(context.user, anonymousUser);
});

const refused = [
  { name: "a token that nobody knows", part: { headers: { authorization: "Bearer wrong" } } },
  { name: "a certificate of a stranger", part: { peer: { address: "", certificateFault: "UNABLE_TO_VERIFY" } } },
  {
    name: "a certificate without a name",
    part: { peer: { address: "", certificate: { commonName: "", organizations: [] } } },
  },
];
for (const { name, part } of refused) {
  test(`${name} is refused and never anonymous`, () => {
    assert.throws(() => identify(chain, request(part)), { message: "Unauthorized", code: 401 });
  });
}

test("a good token counts beside a bad certificate", async () => {
  const peer = { address: "", certificateFault: "expired" };
  const user = await identify(chain, request({ peer, headers: { authorization: "bearer secret" } }));

  assert.equal(user.name, "jane");
});

test("authenticators may take their time", async () => {
  const slow: Authenticator = { name: "slow", authenticate: async () => ({ name: "late", groups: [] }) };
  const failing: Authenticator = { name: "failing", authenticate: async () => Promise.reject(unauthorized()) };

  assert.equal((await identify([failing, slow, anonymous()], request())).name, "late");
  await assert.rejects(async () => identify([failing, anonymous()], request()), { code: 401 });
});

test("anonymous() can be limited to some paths", () => {
  const limited = [anonymous({ paths: ["/livez"] })];

  assert.equal(identify(limited, request({ path: "/livez" })), anonymousUser);
  assert.throws(() => identify(limited, request()), { code: 401 });
});

test("bearerToken() reads the header and the WebSocket protocol", () => {
  const encoded = Buffer.from("se.cr.et").toString("base64url");
  const protocols = `v5.channel.k8s.io, base64url.bearer.authorization.k8s.io.${encoded}`;

  assert.equal(bearerToken({ headers: { authorization: "Bearer  " } }), undefined);
  assert.equal(bearerToken({ headers: { authorization: "Basic abc" } }), undefined);
  assert.equal(bearerToken({ headers: { authorization: "BEARER abc" } }), "abc");
  assert.equal(bearerToken({ headers: { "sec-websocket-protocol": protocols } }), "se.cr.et");
});

const badTokenFiles = [
  { text: "a,b", says: "t.csv:1: must have at least 3 columns (token, user name, user uid), found 2" },
  { text: "a,b,c\n\n,x,1", says: "t.csv:3: the token is empty" },
  { text: "a,,c", says: "t.csv:1: the user name is empty" },
  { text: "a,b,c\na,d,e", says: "t.csv:2: the token stands in an earlier line too" },
  { text: 'a,b,c,"x', says: "t.csv:1: a quote is not closed or stands in the middle of a field" },
];
for (const { text, says } of badTokenFiles) {
  test(`a token file is refused: ${says}`, () => {
    assert.throws(() => parseTokenFile(text, "t.csv"), { message: says });
  });
}

test("a token file that cannot be read is reported by its path", async () => {
  await assert.rejects(
    loadTokenFile("/nowhere/tokens.csv"),
    /cannot read the token file \/nowhere\/tokens.csv \(ENOENT/,
  );
});

test("parseTokenFile() reads quoted groups, blank lines and lines of remarks", () => {
  const users = parseTokenFile('# staff\n\nt1,"o""neil",7,"a,b"\r\nt2,max,\n', "t.csv");

  assert.deepEqual(users.get("t1"), { name: 'o"neil', uid: "7", groups: ["a", "b"] });
  assert.deepEqual(users.get("t2"), { name: "max", groups: [] });
});

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

test("impersonate() asks for each thing that is taken over", async () => {
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

test("impersonate() asks for an extra of any name, and takes over nothing else", async () => {
  const user = await actAs({ "impersonate-user": "jane", "impersonate-extra-__proto__": "x" });

  assert.deepEqual(asked, ["impersonate /users/  jane", "impersonate authentication.k8s.io/userextras/__proto__  x"]);
  assert.deepEqual(Object.entries(user.extra ?? {}), [["__proto__", ["x"]]]);
});

test("impersonate() knows the groups of a service account", async () => {
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
