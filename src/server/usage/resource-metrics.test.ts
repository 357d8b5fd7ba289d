import assert from "node:assert/strict";
import { test } from "node:test";
import { type ContainersOf, readResourceMetrics } from "./resource-metrics.ts";

async function* pieces(...texts: string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield Buffer.from(text);
}

const web: ContainersOf = (namespace, pod) =>
  namespace === "shop" && pod === "web" ? new Set(["app", "proxy"]) : undefined;

const place = 'container="app",namespace="shop",pod="web"';
const appLines = `container_cpu_usage_seconds_total{${place}} 2.5 1000
container_memory_working_set_bytes{${place}} 4096 999
container_start_time_seconds{${place}} 0.5
`;
const app = { atMs: 1000, startedMs: 500, cpuNanoSeconds: 2.5e9, memoryBytes: 4096 };
const read = async (...texts: string[]) => await readResourceMetrics(pieces(...texts), web);
const podsOf = async (text: string) => [...(await read(text)).pods.keys()];

test("readResourceMetrics() reads the node and the containers of its pods", async () => {
  const node = "node_cpu_usage_seconds_total 7e1 2000\nnode_memory_working_set_bytes 8192 2000\n";
  const report = await read(`# HELP x y\n# TYPE x counter\n${appLines}${node}resource_scrape_error 0\n`);

  assert.deepEqual(report.node, { atMs: 2000, startedMs: 0, cpuNanoSeconds: 70e9, memoryBytes: 8192 });
  assert.deepEqual(report.pods, new Map([["shop/web", new Map([["app", app]])]]));
});

test("readResourceMetrics() reads lines that arrive in pieces", async () => {
  const report = await read(...appLines);

  assert.deepEqual(report.pods.get("shop/web")?.get("app"), app);
});

test("readResourceMetrics() leaves out what is not on the node", async () => {
  assert.deepEqual(await podsOf(appLines.replaceAll('pod="web"', 'pod="other"')), []);
  assert.deepEqual(await podsOf(appLines.replaceAll('container="app"', 'container="unknown"')), []);
});

const bad = [
  ["a negative value", " 2.5 1000", " -2.5 1000"],
  ["a value that is no number", " 2.5 1000", " x 1000"],
  ["an infinite value", " 2.5 1000", " +Inf 1000"],
  ["a value beyond an int64", " 2.5 1000", " 1e300 1000"],
  ["no time", " 2.5 1000", " 2.5"],
  ["a time beyond all calendars", " 2.5 1000", " 2.5 1e300"],
  ["escaped labels", 'pod="web"', 'pod="we\\"b"'],
  ["labels that do not end", 'pod="web"}', 'pod="web"'],
  ["no memory", "container_memory_working_set_bytes", "container_other"],
] as const;
for (const [name, from, to] of bad) {
  test(`readResourceMetrics() leaves out a container with ${name}`, async () => {
    assert.deepEqual(await podsOf(appLines.replaceAll(from, to)), []);
  });
}

test("readResourceMetrics() does not mistake the names of labels for members of objects", async () => {
  const report = await read(appLines.replaceAll("{", '{__proto__="x",constructor="y",'));

  assert.deepEqual(report.pods.get("shop/web")?.get("app"), app);
});

test("readResourceMetrics() refuses bodies and lines that are too long", async () => {
  await assert.rejects(read(`${"x".repeat(5000)}`), /a line of more than 4096 characters/);
  const long = `${"# comment\n".repeat(100_000)}`;
  await assert.rejects(read(...Array.from({ length: 9 }, () => long)), /more than 8388608 bytes/);
});
