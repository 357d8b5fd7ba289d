import assert from "node:assert/strict";
import { readdirSync, readFileSync, statSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { allResources } from "#api/all.ts";
import { tierOf } from "./support/tiers.ts";

const root = path.resolve(import.meta.dirname, "..");
const src = path.join(root, "src");

/** Which folders of src/ each folder may import. Read from top to bottom, it is the architecture. */
const layers: Record<string, readonly string[]> = {
  lib: [],
  trace: ["lib"],
  schema: ["lib"],
  cel: ["lib"],
  api: ["lib", "schema"],
  store: ["lib"],
  client: ["lib", "schema", "api", "trace"],
  runtime: ["lib", "api", "client", "trace"],
  "cel-kubernetes": ["lib", "schema", "cel", "api"],
  server: ["lib", "schema", "cel", "cel-kubernetes", "api", "store", "client", "runtime", "trace"],
  controllers: ["lib", "api", "client", "runtime", "trace"],
  scheduler: ["lib", "schema", "cel", "cel-kubernetes", "api", "client", "runtime", "trace"],
  kubelet: ["lib", "schema", "api", "client", "runtime", "trace"],
  provisioner: ["lib", "api", "client", "runtime", "trace"],
  proxy: ["lib", "api", "client", "runtime", "trace"],
  routes: ["lib", "api", "runtime"],
  dns: ["lib", "api", "client", "runtime", "trace"],
  ingress: ["lib", "api", "client", "runtime", "trace"],
  why: ["lib", "api", "client", "runtime", "trace"],
  cli: ["lib", "schema", "api", "client", "runtime", "trace", "why", "cluster"],
};
/** Folders in which everything is put together: they may import anything. */
const meetingPlaces = ["bin", "testing", "cluster"];

function* filesBelow(folder: string): Iterable<string> {
  for (const entry of readdirSync(folder)) {
    const file = path.join(folder, entry);
    if (statSync(file).isDirectory()) yield* filesBelow(file);
    else if (entry.endsWith(".ts")) yield file;
  }
}

const isTest = (file: string): boolean => /\.(test|suite)\.ts$/.test(file);
const sources = [...filesBelow(src)].map((file) => ({
  file: path.relative(src, file),
  text: readFileSync(file, "utf8"),
}));

test("every import goes down the layers", () => {
  const wrong: string[] = [];
  for (const { file, text } of sources) {
    const folder = file.split(path.sep)[0] ?? "";
    if (meetingPlaces.includes(folder) || isTest(file)) continue;
    const allowed = layers[folder];
    assert(allowed, `src/${folder} is not in the table of layers`);
    for (const [, target = ""] of text.matchAll(/from "#([a-z-]+)\//g)) {
      if (target !== folder && !allowed.includes(target)) wrong.push(`${file} imports ${target}`);
    }
    for (const [, target = ""] of text.matchAll(/from "(\.\.\/[^"]+)"/g)) {
      const resolved = path.relative(src, path.resolve(src, path.dirname(file), target)).split(path.sep)[0];
      if (resolved !== folder) wrong.push(`${file} leaves its folder by ${target}`);
    }
  }
  assert.deepEqual(wrong, []);
});

/** The rooms at both ends of an import that crosses from one room of a folder to another: `src/server` has `http`, `apply` … */
function roomsOf(file: string, target: string): { folder: string; from: string; to: string } | undefined {
  const from = path.dirname(file).split(path.sep);
  const to = path.dirname(target).split(path.sep);
  const depth = from.findIndex((part, index) => part !== to[index]);
  const [here, there] = [from[depth], to[depth]];
  if (depth <= 0 || !here || !there) return;
  return { folder: from.slice(0, depth).join("/"), from: here, to: there };
}

test("rooms of a folder do not import each other in a cycle", () => {
  const imports = new Map<string, Map<string, string>>();
  for (const { file, text } of sources) {
    if (isTest(file)) continue;
    for (const [, target = ""] of text.matchAll(/(?:from|import\() ?"((?:\.|#)[^"]+\.ts)"/g)) {
      const resolved = target.startsWith("#") ? target.slice(1) : path.join(path.dirname(file), target);
      const rooms = roomsOf(file, resolved);
      if (!rooms) continue;
      const from = `${rooms.folder}/${rooms.from}`;
      const seen = imports.get(from) ?? new Map<string, string>();
      imports.set(from, seen.set(`${rooms.folder}/${rooms.to}`, `${file} imports ${resolved}`));
    }
  }

  const circles: string[] = [];
  const done = new Set<string>();
  const visit = (room: string, way: readonly string[]): void => {
    if (way.includes(room)) circles.push([...way.slice(way.indexOf(room)), room].join(" > "));
    if (done.has(room)) return;
    done.add(room);
    for (const next of imports.get(room)?.keys() ?? []) visit(next, [...way, room]);
  };
  for (const room of imports.keys()) visit(room, []);
  assert.deepEqual(circles, [], "see docs/rooms.md for what may import what");
});

test("no folder holds more than 17 sources", () => {
  const counts = new Map<string, number>();
  for (const { file } of sources) {
    if (!isTest(file)) counts.set(path.dirname(file), (counts.get(path.dirname(file)) ?? 0) + 1);
  }
  assert.deepEqual(
    [...counts].filter(([, count]) => count > 17),
    [],
  );
});

/** What a unit test and its test support must not do, because unit tests share a process. */
const notInUnits: readonly { readonly pattern: RegExp; readonly why: string }[] = [
  { pattern: /"node:child_process"|\brunCommand\(/, why: "starts processes" },
  { pattern: /\.listen\(|\bcreateSocket\(/, why: "listens" },
  { pattern: /\b(startCluster|assembleApiServer|startServer)\(/, why: "starts a cluster" },
  { pattern: /^(before|beforeEach|afterEach)\(/m, why: "has a hook around the tests of all files" },
  { pattern: /\bprocess\.(chdir|on|once|memoryUsage)\(|\bprocess\.env\.\w+ =[^=]/, why: "affects its whole process" },
];

test("a unit test can share its process with others", () => {
  const units = [...filesBelow(src), ...filesBelow(path.join(root, "test"))].filter(
    (file) => file.endsWith(".test.ts") && tierOf(file) === "unit" && file !== import.meta.filename,
  );
  const wrong = units.flatMap((file) =>
    [...withTestSupport(file)].flatMap((part) => {
      const text = readFileSync(part, "utf8");
      const reasons = notInUnits.filter(({ pattern }) => pattern.test(text)).map(({ why }) => why);
      return reasons.map((why) => `${path.relative(root, file)}: ${path.relative(root, part)} ${why}`);
    }),
  );
  assert.deepEqual(wrong, []);
});

/** A test, and the test support that it imports directly or indirectly. */
function withTestSupport(file: string, found = new Set<string>()): Set<string> {
  if (found.has(file)) return found;
  found.add(file);
  for (const [, isShared, target = ""] of readFileSync(file, "utf8").matchAll(
    /^import (?!type\b)[^"]*"(#?)([^"]+\.ts)"/gm,
  )) {
    const imported = isShared ? path.join(src, target) : path.resolve(path.dirname(file), target);
    const isSupport = /\/(testing|support)\/|\.suite\.ts$/.test(path.relative(root, imported));
    if (isSupport) withTestSupport(imported, found);
  }
  return found;
}

const banned: readonly { readonly pattern: RegExp; readonly why: string }[] = [
  { pattern: /\bDate\.now\(|new Date\(\)/, why: "time comes from the Clock" },
  { pattern: /\bset(Timeout|Interval)\(/, why: "timers come from the Clock" },
  { pattern: /\bMath\.random\(/, why: "randomness comes from an injected source" },
  { pattern: /\bconsole\./, why: "write to the Log" },
  { pattern: /\bas any\b|: any\b/, why: "use a precise type" },
];

test("clocks, timers, randomness and the console are injected", () => {
  const wrong: string[] = [];
  for (const { file, text } of sources) {
    const folder = file.split(path.sep)[0] ?? "";
    if (["lib", "bin", "testing"].includes(folder) || isTest(file)) continue;
    const lines = text.split("\n");
    lines.forEach((line, index) => {
      const isComment = /^\s*(\/\*\*|\*|\/\/)/.test(line);
      if (isComment) return;
      for (const { pattern, why } of banned) if (pattern.test(line)) wrong.push(`${file}:${index + 1}: ${why}`);
    });
  }
  assert.deepEqual(wrong, []);
});

/** A busy disk takes seconds, a mounted server may never answer, and below /sys even `access` can block. */
test("components do not wait for files on the main thread", () => {
  const atStart = new Set(["kubelet/containerd/host.ts", "kubelet/containerd/containerd.ts"]);
  const components = /^(server|controllers|scheduler|kubelet|proxy|dns|ingress|runtime|client)\//;
  const waits = sources.filter(
    ({ file, text }) =>
      components.test(file) &&
      !isTest(file) &&
      !atStart.has(file) &&
      /^import \{[^}]*Sync\b[^}]*\} from "node:fs"/m.test(text),
  );

  assert.deepEqual(
    waits.map(({ file }) => file),
    [],
  );
});

test("no file is longer than 400 lines", () => {
  const long = sources
    .filter(({ file, text }) => !isTest(file) && text.split("\n").length > 400)
    .map(({ file }) => file);
  assert.deepEqual(long, []);
});

test("every export is used", () => {
  const users = ["src", "test", "bench", "examples", "package"].flatMap((folder) => [
    ...filesBelow(path.join(root, folder)),
  ]);
  const seen = new Map<string, number>();
  for (const file of users) {
    for (const [word] of readFileSync(file, "utf8").matchAll(/[\w$]+/g)) seen.set(word, (seen.get(word) ?? 0) + 1);
  }

  const unused: string[] = [];
  for (const { file, text } of sources) {
    for (const [, name = ""] of text.matchAll(
      /^export (?:async )?(?:const|function\*?|class|interface|type) (\w+)/gm,
    )) {
      if (seen.get(name) === 1) unused.push(`${file}: ${name}`);
    }
  }
  assert.deepEqual(unused, []);
});

/** Code that works for every kind. What it must know about a kind is in the kind's declaration. */
const generic =
  /^(schema|server\/(apply|dispatch|registry|http\/respond|request\/table)|controllers\/garbage-collector)/;

test("generic code names no kind", () => {
  const plurals = new Set(allResources.map(({ plural }) => plural));
  const wrong: string[] = [];
  for (const { file, text } of sources) {
    if (!generic.test(file) || isTest(file)) continue;
    for (const [, word = ""] of text.matchAll(/"([a-z]+)"/g)) if (plurals.has(word)) wrong.push(`${file}: ${word}`);
  }
  assert.deepEqual(wrong, []);
});
