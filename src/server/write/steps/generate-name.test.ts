import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigMap } from "#api/core/config-map.ts";
import { type ApiObject } from "#api/resource.ts";
import { alreadyExists, isAlreadyExists } from "#api/status.ts";
import { generateName, retryName } from "./generate-name.ts";

const random = () => 0;
const objectOf = (metadata: ApiObject["metadata"]): ApiObject => ({ metadata });

const cases = [
  { name: "keeps a given name", metadata: { name: "a", generateName: "b-" }, prefix: "", result: "a" },
  { name: "generates a name from a prefix", metadata: { generateName: "b-" }, prefix: "b-", result: "b-bbbbb" },
  { name: "does nothing without name and prefix", metadata: {}, prefix: "", result: undefined },
  {
    name: "cuts a long prefix, so that the suffix fits into a label",
    metadata: { generateName: "x".repeat(70) },
    prefix: "x".repeat(70),
    result: `${"x".repeat(58)}bbbbb`,
  },
];
for (const { name, metadata, prefix, result } of cases) {
  test(`generateName() ${name}`, () => {
    const object = objectOf({ ...metadata });

    assert.equal(generateName(object, random), prefix);
    assert.equal(object.metadata.name, result);
  });
}

test("retryName() tries other names while the name is taken, for an object without a uid", async () => {
  const numbers = [0.5, 0.5, 0.5, 0.5, 0.5];
  const object = objectOf({ name: "b-bbbbb", uid: "1" });
  const tried: (string | undefined)[][] = [];

  await retryName(object, { prefix: "b-", random: () => numbers.shift() ?? 0 }, async () => {
    tried.push([object.metadata.name, object.metadata.uid]);
    if (tried.length === 1) throw alreadyExists(ConfigMap, "b-bbbbb");
  });

  const [, second] = tried;
  assert.deepEqual(tried[0], ["b-bbbbb", "1"]);
  assert.equal(tried.length, 2);
  assert.notEqual(second?.[0], "b-bbbbb");
  assert.equal(second?.[1], undefined);
});

test("retryName() passes other errors on, and gives up on a name that is always taken", async () => {
  const object = objectOf({ name: "b-bbbbb" });
  const how = { prefix: "b-", random };
  let tries = 0;
  const taken = async () => {
    tries++;
    throw alreadyExists(ConfigMap, "b-bbbbb");
  };

  await assert.rejects(
    retryName(object, how, () => Promise.reject(new Error("full"))),
    { message: "full" },
  );
  await assert.rejects(retryName(object, how, taken), (error) => isAlreadyExists(error) && error.code === 409);
  assert.equal(tries, 8);
});
