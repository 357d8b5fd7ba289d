import assert from "node:assert/strict";
import { test } from "node:test";
import { formatYaml, parseYaml, YamlError, yamlToJson } from "./yaml.ts";
import { YamlBusyError, YamlPool } from "./yaml-pool.ts";

const cases: [string, unknown][] = [
  ["a: yes\nb: off\nc: 'yes'\nd: y", { a: true, b: false, c: "yes", d: true }],
  ["mode: 0644\nhex: 0x1F\nbig: 1_000\nneg: -010", { mode: 420, hex: 31, big: 1000, neg: -8 }],
  ["time: 1:30\ndate: 2024-01-02\nversion: 1.10.0", { time: "1:30", date: "2024-01-02", version: "1.10.0" }],
  ["a: 1.5\nb: .5\nc: 1e3\nd: -2", { a: 1.5, b: 0.5, c: 1000, d: -2 }],
  ["a: ~\nb:\nc: null\nd: ''", { a: null, b: null, c: null, d: "" }],
  ["1: a\ntrue: b\n8080: c", { 1: "a", true: "b", 8080: "c" }],
  ["a: &x {b: 1}\nc: *x\nd:\n  <<: *x\n  e: 2", { a: { b: 1 }, c: { b: 1 }, d: { b: 1, e: 2 } }],
  ['{"a":[1,"x",{"b":null}]}', { a: [1, "x", { b: null }] }],
  ["a: |\n  two\n  lines\nb: >-\n  one\n  line", { a: "two\nlines\n", b: "one line" }],
  ["", null],
  ["--- # one\na: 1\n", { a: 1 }],
];
for (const [text, value] of cases) {
  test(`parseYaml() reads ${JSON.stringify(text)}`, async () => {
    assert.deepEqual((await parseYaml(text)).value, value);
  });
}

test("parseYaml() refuses text that is not exactly one valid document", async () => {
  const bomb = ["a: &a [x,x,x,x,x,x,x,x,x]"];
  for (let level = 0; level < 8; level++) {
    const from = String.fromCharCode(97 + level);
    bomb.push(`${String.fromCharCode(98 + level)}: &${String.fromCharCode(98 + level)} [${`*${from},`.repeat(9)}]`);
  }
  for (const text of [
    "a: 1\n---\nb: 2",
    "a: [1",
    "a: b: c",
    "\ta: 1",
    bomb.join("\n"),
    "[".repeat(100_000),
    "a: .nan",
  ]) {
    await assert.rejects(parseYaml(text), YamlError);
  }
});

test("parseYaml() names duplicate keys and lets the last one win", async () => {
  const { value, duplicates } = await parseYaml("a: 1\nb:\n  c: 1\n  c: 2\na: 3");

  assert.deepEqual(value, { a: 3, b: { c: 2 } });
  assert.deepEqual(duplicates, ['line 5: key "a" already set in map', 'line 4: key "c" already set in map']);
});

test("parseYaml() treats __proto__ as a key like any other", async () => {
  const { value } = await parseYaml("__proto__: {x: 1}");

  assert.equal(Object.getPrototypeOf(value), Object.prototype);
  assert.equal(JSON.stringify(value), '{"__proto__":{"x":1}}');
});

test("formatYaml() writes what parseYaml() reads back, in kubectl's style", async () => {
  const value = {
    z: ["yes", "1:30", "0644", "1e3", "null", "~", "", " x", "a: b", "#c", "line\nbreak"],
    a: { y: "n", n: 1.5 },
  };

  const text = await formatYaml(value);

  assert.deepEqual((await parseYaml(text)).value, value);
  assert.match(text, /^a:\n {2}"n": 1.5\n {2}"y": "n"\nz:\n- "yes"\n/);
});

const lines = (count: number): string =>
  Array.from({ length: count }, (_, n) => `key${n}: {a: [1, "x", ${n}]}`).join("\n");
const fromJson = (bytes: Uint8Array): unknown => JSON.parse(Buffer.from(bytes).toString());

test("yamlToJson() and formatYaml() treat long texts in a thread like short ones here", async () => {
  for (const count of [3, 1000]) {
    const text = lines(count);
    const { value } = await parseYaml(text);

    assert.deepEqual(fromJson((await yamlToJson(text, "jane")).bytes), value);
    assert.deepEqual(fromJson((await yamlToJson(await formatYaml(value), "jane")).bytes), value);
  }
});

test("a text that takes too long is abandoned, and the next one is read", async () => {
  const pool = new YamlPool(300);
  const text = `[${"{a: &x [],b: *x},".repeat(170_000)}]`;

  const hostile = await pool.run({ task: "read", text, owner: "mallory" });

  assert.deepEqual(hostile, { fault: "yaml: too long to be read: send it as JSON" });
  const honest = await new YamlPool().run({ task: "read", text: "a: 1", owner: "jane" });
  assert.deepEqual(fromJson(honest.bytes ?? assert.fail()), { a: 1 });
});

test("yamlToJson() queues only a few texts of one owner, and others go first", async () => {
  const order: string[] = [];
  const read = (owner: string) => yamlToJson(lines(500), owner).then(() => order.push(owner));
  const own = Array.from({ length: 12 }, () => read("mallory"));
  const other = read("jane");

  const results = await Promise.allSettled(own);
  await other;

  const busy = results.filter((result) => result.status === "rejected" && result.reason instanceof YamlBusyError);
  assert.equal(busy.length, 2, "two are under way, and eight wait");
  assert(order.indexOf("jane") <= 3, order.join());
});

test("an anchor that contains itself is refused, in a short text and in a long one", async () => {
  const circular = "a: &a\n  b: *a\n";

  await assert.rejects(yamlToJson(circular, "jane"), YamlError);
  await assert.rejects(yamlToJson(`${circular}c: ${"x".repeat(10_000)}\n`, "jane"), YamlError);
});
