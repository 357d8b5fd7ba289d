import assert from "node:assert/strict";
import { test } from "node:test";
import { allResources } from "#api/all.ts";
import { parseConfig } from "../config/config-file.ts";
import { encryptionConfig } from "./configuration.ts";
import { transformersFor } from "./transformers.ts";

const secret = Buffer.alloc(32, 1).toString("base64");
const aes = { aesgcm: { keys: [{ name: "key1", secret }] } };
const file = (...resources: object[]): string =>
  JSON.stringify({ apiVersion: "apiserver.config.k8s.io/v1", kind: "EncryptionConfiguration", resources });
const parse = (text: string) => parseConfig(encryptionConfig, text, "/etc/enc.yaml");
const group = (resources: string[], ...providers: object[]) => ({ resources, providers });
const kms = (more: object) =>
  group(["secrets"], { kms: { apiVersion: "v2", name: "k", endpoint: "unix:///k", ...more } });
const keys = (...list: object[]) => group(["secrets"], { aescbc: { keys: list } });

const refused: readonly [name: string, text: string, message: RegExp][] = [
  ["nothing", "", /kind: must be EncryptionConfiguration, not absent/],
  ["another kind", "kind: Pod\napiVersion: v1", /kind: must be EncryptionConfiguration, not "Pod"/],
  [
    "another version",
    "kind: EncryptionConfiguration\napiVersion: v2",
    /apiVersion: must be apiserver.config.k8s.io\/v1/,
  ],
  ["bad YAML", "a: [", /yaml: line 1/],
  ["no resources", file(), /resources: Required value: at least one resources is required/],
  ["an unknown field", file({ ...group(["secrets"], aes), foo: 1 }), /resources\[0\].foo: there is no such field/],
  ["a key twice", "kind: EncryptionConfiguration\nkind: EncryptionConfiguration", /key "kind" already set/],
  ["no providers", file(group(["secrets"])), /resources\[0\].providers: Required value/],
  ["an empty provider", file(group(["secrets"], {})), /providers\[0\]: Invalid value: .* does not contain any/],
  ["two in one", file(group(["secrets"], { ...aes, identity: {} })), /more than one provider specified/],
  ["a short key", file(keys({ name: "a", secret: "eA==" })), /keys\[0\].secret: .*got 1, expected one of \[16 24 32\]/],
  ["a key that is not base64", file(keys({ name: "a", secret: "top secret" })), /secrets must be base64 encoded/],
  ["a key without a name", file(keys({ secret })), /keys\[0\].name: Required value/],
  ["all without a dot", file(group(["*"], aes)), /use '\*\.' to encrypt all/],
  ["capitals", file(group(["Secrets"], aes)), /should not contain capital letters/],
  ["events.k8s.io", file(group(["events.events.k8s.io"], aes)), /Use 'events' instead/],
  ["one resource twice", file(group(["secrets", "secrets"], aes)), /the same resource cannot be specified/],
  ["overlapping names", file(group(["secrets", "*."], aes)), /using overlapping resources/],
  ["a masked rule", file(group(["*."], aes), group(["secrets"], aes)), /"secrets" is masked by earlier rule "\*\."/],
  ["all across groups", file(group(["secrets.*"], aes)), /same resource across groups is not supported/],
  ["KMS v1", file(kms({ apiVersion: "v1" })), /kms.apiVersion: .*KMSv1 is deprecated/],
  ["KMS over TCP", file(kms({ endpoint: "tcp://x:1" })), /unsupported scheme "tcp" .*only unix/],
  ["KMS without a path", file(kms({ endpoint: "unix://" })), /kms.endpoint: Invalid value/],
  ["a KMS name with a colon", file(kms({ name: "a:b" })), /must not contain ':'/],
  ["a KMS name twice", file(kms({}), { ...kms({}), resources: ["pods"] }), /duplicate KMS provider name k/],
  ["a KMS timeout of 0", file(kms({ timeout: "0s" })), /timeout should be a positive value/],
  ["a KMS cache", file(kms({ cachesize: 5 })), /cachesize is not supported in v2/],
];
for (const [name, text, message] of refused) {
  test(`an encryption configuration with ${name} is refused in one line`, async () => {
    await assert.rejects(parse(text), (error: Error) => {
      assert.match(error.message, message);
      assert(error.message.startsWith("/etc/enc.yaml: "));
      assert(!error.message.includes("\n") && !error.message.includes("top secret"));
      return true;
    });
  });
}

test("a resource is encrypted by its own rule, that of its group, or that of all, in this order", async () => {
  const named = (name: string) => ({ aesgcm: { keys: [{ name, secret }] } });
  const config = await parse(
    file(
      group(["secrets"], named("own")),
      group(["*."], named("core")),
      group(["deployments.apps"], named("deployments")),
      group(["pods.example.com"], { identity: {} }),
      group(["*.*"], named("all")),
    ),
  );
  const transformerOf = transformersFor(config, { resources: allResources, kmsOf: assert.fail });
  const writer = (key: string): string =>
    Buffer.from(transformerOf(key).seal(Buffer.from("x"), key))
      .toString("latin1")
      .split(":")[4] ?? "plain";

  assert.equal(writer("/registry/secrets/default/a"), "own");
  assert.equal(writer("/registry/configmaps/default/a"), "core");
  assert.equal(writer("/registry/services/specs/default/a"), "core");
  assert.equal(writer("/registry/minions/a"), "core");
  assert.equal(writer("/registry/events/default/a"), "core");
  assert.equal(writer("/registry/deployments/default/a"), "deployments");
  assert.equal(writer("/registry/replicasets/default/a"), "all");
  assert.equal(writer("/registry/example.com/widgets/default/a"), "all");
  assert.equal(writer("/registry/example.com/pods/default/a"), "plain");
});

test("what no rule names is not encrypted", async () => {
  const config = await parse(file(group(["secrets"], aes)));
  const transformer = transformersFor(config, { resources: allResources, kmsOf: assert.fail })(
    "/registry/pods/default/a",
  );
  const value = Buffer.from("x");

  assert.equal(transformer.seal(value, "/registry/pods/default/a"), value);
});
