import assert from "node:assert/strict";
import { test } from "node:test";
import { Secret } from "#api/core/secret.ts";
import { createFakeInformers } from "#testing/fake-informers.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { bootstrapTokens } from "./bootstrap-token.ts";

const good = {
  "token-id": "abcdef",
  "token-secret": "0123456789abcdef",
  "usage-bootstrap-authentication": "true",
  expiration: "2026-01-01T09:00:00Z",
  "auth-extra-groups": "system:bootstrappers:worker,system:bootstrappers:a",
};
const type = "bootstrap.kubernetes.io/token";

interface Change {
  readonly data?: Readonly<Record<string, string>>;
  readonly type?: string;
  readonly namespace?: string;
  readonly deletionTimestamp?: string;
  readonly token?: string;
}

async function ask({ data = {}, token = "abcdef.0123456789abcdef", ...change }: Change = {}) {
  const informers = createFakeInformers();
  const { namespace = "kube-system", deletionTimestamp } = change;
  const encoded = Object.entries({ ...good, ...data }).map(([key, text]) => [
    key,
    Buffer.from(text).toString("base64"),
  ]);
  informers.put(Secret, {
    metadata: { namespace, name: "bootstrap-token-abcdef", ...(deletionTimestamp ? { deletionTimestamp } : {}) },
    type: change.type ?? type,
    data: Object.fromEntries(encoded) as Record<string, string>,
  });
  return await bootstrapTokens({ informers, clock: createVirtualClock() }).authenticateToken(token);
}

test("bootstrapTokens() knows a token by its Secret, with its extra groups", async () => {
  assert.deepEqual(await ask(), {
    user: {
      name: "system:bootstrap:abcdef",
      groups: ["system:bootstrappers", "system:bootstrappers:a", "system:bootstrappers:worker"],
    },
  });
  assert.deepEqual((await ask({ data: { "auth-extra-groups": "", expiration: "" } }))?.user.groups, [
    "system:bootstrappers",
  ]);
  assert.ok(await ask({ data: { expiration: "2026-01-01T10:00:00.5+01:00" } }), "an hour ahead, in another time zone");
});

const refused: readonly (readonly [name: string, change: Change])[] = [
  ["another secret", { token: "abcdef.0123456789abcdee" }],
  ["another id", { token: "abcdeg.0123456789abcdef" }],
  ["upper case", { token: "ABCDEF.0123456789abcdef" }],
  ["a path in the id", { token: "../abc.0123456789abcdef" }],
  ["a line after the token", { token: "abcdef.0123456789abcdef\n" }],
  ["another type", { type: "Opaque" }],
  ["another namespace", { namespace: "default" }],
  ["a Secret that is being deleted", { deletionTimestamp: "2026-01-01T08:00:00Z" }],
  ["an id that is not the Secret's", { data: { "token-id": "aaaaaa" } }],
  ["no usage for authentication", { data: { "usage-bootstrap-authentication": "True" } }],
  ["an expired token", { data: { expiration: "2026-01-01T08:00:00Z" } }],
  ["an expiry that is no time", { data: { expiration: "tomorrow" } }],
  ["a group outside of the bootstrappers", { data: { "auth-extra-groups": "system:masters" } }],
  ["an empty group", { data: { "auth-extra-groups": "system:bootstrappers:a," } }],
];
for (const [name, change] of refused) {
  test(`bootstrapTokens() does not accept ${name}`, async () => assert.equal(await ask(change), undefined));
}
