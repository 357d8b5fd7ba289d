import assert from "node:assert/strict";
import { test } from "node:test";
import { unauthorized } from "#api/status.ts";
import { anonymous, anonymousUser } from "./anonymous.ts";
import { contextOf, done, request } from "./authenticate.suite.ts";
import { type Authenticator } from "./authenticator.ts";
import { bearer } from "./bearer.ts";
import { authenticate, identify, withAuthenticatedGroup } from "./chain.ts";
import { clientCertificate } from "./client-certificate.ts";
import { inProcess } from "./in-process.ts";
import { parseTokenFile, tokenFile } from "./token-file.ts";

const tokens = tokenFile(parseTokenFile('secret,jane,1,"dev,ops"\n', "tokens.csv"));
const chain: Authenticator[] = [inProcess, clientCertificate, bearer(tokens), anonymous()];
test("the first identity wins and gets the group system:authenticated", async () => {
  const context = contextOf({ headers: { authorization: "Bearer secret" } });
  await authenticate(chain)(context, () => done);

  assert.deepEqual(context.user, { name: "jane", uid: "1", groups: ["dev", "ops", "system:authenticated"] });
});

test("the same identity is the same object, so that later stages can use it as a cache key", () => {
  const peer = { address: "", certificate: { commonName: "jane", organizations: ["dev"] } };
  const first = identify(chain, request({ peer }));
  const second = identify(chain, request({ peer }));

  assert.equal(first, second);
  assert(!(first instanceof Promise) && !(second instanceof Promise));
  assert.equal(withAuthenticatedGroup(first), withAuthenticatedGroup(second));
});

test("a caller without credentials is anonymous and not in system:authenticated", async () => {
  const context = contextOf({});
  await authenticate(chain)(context, () => done);

  assert.equal(context.user, anonymousUser);
});

const refused = [
  { name: "an unknown token", part: { headers: { authorization: "Bearer wrong" } } },
  { name: "an unverified certificate", part: { peer: { address: "", certificateFault: "UNABLE_TO_VERIFY" } } },
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

test("a valid token counts even with a bad certificate", async () => {
  const peer = { address: "", certificateFault: "expired" };
  const user = await identify(chain, request({ peer, headers: { authorization: "bearer secret" } }));

  assert.equal(user.name, "jane");
});

test("authenticators may be asynchronous", async () => {
  const slow: Authenticator = { name: "slow", authenticate: async () => ({ name: "late", groups: [] }) };
  const failing: Authenticator = { name: "failing", authenticate: async () => Promise.reject(unauthorized()) };

  assert.equal((await identify([failing, slow, anonymous()], request())).name, "late");
  await assert.rejects(async () => identify([failing, anonymous()], request()), { code: 401 });
});
