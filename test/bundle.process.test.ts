import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { after, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { findBundle } from "#lib/bundle/find-bundle.ts";
import { type Modules, runBundle } from "#lib/bundle/run-bundle.ts";
import { writeBundle } from "../package/bundle.ts";
import { makeTempDir } from "./support/server.ts";

const root = makeTempDir();
const source = path.join(root, "src");
const out = path.join(root, "bundle");
after(() => rmSync(root, { recursive: true, force: true }));

function write(file: string, text: string): void {
  mkdirSync(path.dirname(path.join(source, file)), { recursive: true });
  writeFileSync(path.join(source, file), text);
}

write("a/number.ts", `export const number: number = 1;\n`);
write("a/place.ts", "export const place = [import.meta.url, import.meta.dirname, import.meta.filename];\n");
write("a/seen.ts", "export const seen: string[] = [];\n");
write("a/late.ts", `import { seen } from "./seen.ts";\nseen.push("late");\nexport const late = "ü\\u{1F600}";\n`);
write(
  "a/main.ts",
  `import { number } from "./number.ts";
export interface Shape { readonly side: number }
export const twice = (): number => number * 2;
export const loadLate = async (): Promise<string> => (await import("./late.ts")).late;
export function fails(shape: Shape): never {
  throw new Error(\`side \${shape.side}\`);
}
export const separator = async (): Promise<string> => (await import("node:path")).sep;
`,
);
write("a/program.ts", "await Promise.resolve();\n");
write("a/main.test.ts", `throw new Error("a test is not part of a bundle");\n`);

write("a/unused.ts", "export const unused = 1;\n");

const entries = ["a/main.ts", "a/place.ts", "a/seen.ts"];
const build = () => writeBundle({ source, extension: ".ts", entries, out });
function opened(): Modules {
  const bundle = findBundle(out, source);
  assert(bundle);
  return runBundle(bundle, { folder: path.join(root, "code"), purpose: "test" });
}
const load = (modules: Modules, file: string) => modules.load(file) as Record<string, never>;
interface Main {
  twice(): number;
  loadLate(): Promise<string>;
  fails(shape: object): never;
  separator(): Promise<string>;
}

test("the modules of a bundle do what their sources say", async () => {
  await build();
  const modules = opened();
  const main = modules.load("a/main.ts") as Main;

  assert.equal(main.twice(), 2);
  assert.equal(await main.separator(), "/");
  assert.deepEqual(load(modules, "a/place.ts").place, [
    `file://${source}/a/place.ts`,
    `${source}/a`,
    `${source}/a/place.ts`,
  ]);
  assert.throws(
    () => main.fails({ side: 3 }),
    (error: Error) => error.stack?.includes(`${source}/a/main.ts:6`) === true,
  );
  assert.deepEqual([modules.has("a/number.ts"), modules.has("a/main.test.ts")], [false, false]);
});

test("what is imported later is evaluated later", async () => {
  const modules = opened();
  const main = modules.load("a/main.ts") as Main;
  const { seen } = modules.load("a/seen.ts") as { seen: string[] };
  assert.deepEqual(seen, []);

  assert.equal(await main.loadLate(), "ü\u{1F600}");
  assert.deepEqual(seen, ["late"]);
});

test("a changed source is in the next bundle, and the old bundle is gone", async () => {
  write("a/number.ts", "export const number: number = 21;\n");
  assert.equal(findBundle(out, source), undefined);

  await build();

  assert.equal((opened().load("a/main.ts") as Main).twice(), 42);
  assert.equal(readdirSync(out).length, 2);
});

test("what no entry imports is not in a bundle, and may change", () => {
  const { manifest } = findBundle(out, source) ?? {};
  write("a/unused.ts", "export const unused = 2;\n");

  assert.deepEqual(manifest?.sources, ["a/late.ts", "a/main.ts", "a/number.ts", "a/place.ts", "a/seen.ts"]);
  assert(findBundle(out, source));
});

test("builds at the same time leave a bundle that works", async () => {
  write("a/number.ts", "export const number: number = 4;\n");

  await Promise.all([build(), build(), build()]);

  assert.equal((opened().load("a/main.ts") as Main).twice(), 8);
});

test("a build that is killed leaves the old bundle or the new one", async () => {
  const script = path.join(root, "build.ts");
  const builder = path.resolve(import.meta.dirname, "../package/bundle.ts");
  const options = JSON.stringify({ source, extension: ".ts", entries, out });
  writeFileSync(script, `import { writeBundle } from ${JSON.stringify(builder)};\nawait writeBundle(${options});\n`);
  for (const ms of [150, 300, 450]) {
    write("a/number.ts", `export const number: number = ${ms};\n`);
    const child = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", script], { stdio: "ignore" });
    const ended = once(child, "exit");
    await sleep(ms);
    child.kill("SIGKILL");
    await ended;

    // An old bundle does not count as one, because its source has changed.
    if (findBundle(out, source)) assert.equal((opened().load("a/main.ts") as Main).twice(), 2 * ms);
  }
  await build();
  assert.equal((opened().load("a/main.ts") as Main).twice(), 900);
});
