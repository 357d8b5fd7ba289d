import assert from "node:assert/strict";
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir, userInfo } from "node:os";
import path from "node:path";
import { after, test } from "node:test";
import { bytesPerLine, linesFile, type Manifest, manifestFile, scriptFile, scriptParameters } from "./bundle-files.ts";
import { CompiledCode } from "./compiled-code.ts";
import { type Bundle, findBundle, stampOf } from "./find-bundle.ts";
import { openModules } from "./open-modules.ts";
import { checkoutBundle, codeFolder } from "./places.ts";
import { runBundle } from "./run-bundle.ts";

const root = mkdtempSync(path.join(tmpdir(), "orlop-test-"));
const source = path.join(root, "src");
const folder = checkoutBundle(root);
const code = path.join(codeFolder(root), "one");
after(() => rmSync(root, { recursive: true, force: true }));

const script = `(function (${scriptParameters.join(", ")}) {
exports.modules = {
  "lib/ours.ts": () => ({ place: [__sourceUrl, __sourceFolder] }),
  "lib/fails.ts": () => { throw new Error("on purpose"); },
};
})`;

/** A bundle as the builder writes it, with one source. */
function write(): Bundle {
  mkdirSync(path.join(source, "lib"), { recursive: true });
  mkdirSync(path.join(folder, "one"), { recursive: true });
  rmSync(code, { recursive: true, force: true });
  const ours = path.join(source, "lib/ours.ts");
  writeFileSync(ours, "export const place = 1;\n");
  const lines = Buffer.alloc(bytesPerLine * script.split("\n").length);
  // The fourth line of the script is the 70th of the source.
  lines.writeUInt16LE(1, 3 * bytesPerLine);
  lines.writeUInt16LE(70, 3 * bytesPerLine + 2);
  writeFileSync(path.join(folder, "one", scriptFile), script);
  writeFileSync(path.join(folder, "one", linesFile), lines);
  const manifest: Manifest = { folder: "one", sources: ["lib/ours.ts"], stamps: [stampOf(ours)], others: [] };
  writeFileSync(path.join(folder, manifestFile), JSON.stringify(manifest));
  const found = findBundle(folder, source);
  assert(found);
  return found;
}

const run = (bundle: Bundle) => runBundle(bundle, { folder: code, purpose: "server" });
const codeFile = (): string => {
  const [name = "none"] = readdirSync(code);
  return path.join(code, name);
};

test("a bundle is current until one of its sources changes", () => {
  const ours = path.join(source, "lib/ours.ts");
  const changes: readonly [string, () => void][] = [
    ["grows", () => writeFileSync(ours, "export const place = 10;\n")],
    ["disappears", () => rmSync(ours)],
    ["is older than before", () => utimesSync(ours, 1, 1)],
    [
      "changes in place and keeps its size and its time",
      () => {
        const [, modifiedMs] = stampOf(ours);
        writeFileSync(ours, "export const place = 2;\n");
        utimesSync(ours, modifiedMs / 1000, modifiedMs / 1000);
      },
    ],
  ];
  for (const [what, change] of changes) {
    write();

    change();

    assert.equal(findBundle(folder, source), undefined, `a source that ${what}`);
  }
});

test("there is no bundle without a manifest, with half of one, or without its script", () => {
  write();
  rmSync(path.join(folder, "one", scriptFile));
  assert.equal(openModules(source, "server"), undefined);

  write();
  truncateSync(path.join(folder, manifestFile), 20);
  assert.equal(openModules(source, "server"), undefined);

  rmSync(path.join(folder, manifestFile));
  assert.equal(openModules(source, "server"), undefined);
});

test("a module of a bundle has the place of its source", () => {
  const modules = run(write());

  assert.deepEqual(modules.load("lib/ours.ts"), { place: [`file://${source}/`, source] });
  assert.equal(modules.has("toString"), false);
  assert.throws(() => modules.load("toString"), /has no module toString/);
});

test("the stack of an error names the source and its line", () => {
  const modules = run(write());

  assert.throws(
    () => modules.load("lib/fails.ts"),
    (error: Error) =>
      error.stack?.includes(`${source}/lib/ours.ts:70`) === true && /^Error: on purpose\n/.test(error.stack),
  );
});

test("a stack can be read after the bundle was replaced", () => {
  const bundle = write();
  const modules = run(bundle);
  rmSync(bundle.folder, { recursive: true });

  assert.throws(() => modules.load("lib/fails.ts"), /on purpose/);
});

test("compiled code is kept once, and used only if it is whole", () => {
  const bundle = write();
  run(bundle).keepCode();
  const kept = readFileSync(codeFile());

  run(bundle).keepCode();
  assert.deepEqual(readFileSync(codeFile()), kept);

  for (const damaged of [kept.subarray(0, kept.length / 2), Buffer.alloc(kept.length, 1), Buffer.alloc(0)]) {
    writeFileSync(codeFile(), damaged);
    const modules = run(bundle);
    assert(modules.has("lib/ours.ts"));
    modules.keepCode();
    assert.notDeepEqual(readFileSync(codeFile()), damaged);
  }
  assert.equal(readdirSync(code).length, 1);
});

test("a process that cannot keep its code runs all the same", () => {
  const bundle = write();
  mkdirSync(path.dirname(code), { recursive: true });
  writeFileSync(code, "a file in place of the folder");

  const modules = run(bundle);
  modules.keepCode();

  assert(modules.has("lib/ours.ts"));
});

test("the code of many versions and bundles does not add up", () => {
  const bundle = write();
  mkdirSync(code, { recursive: true });
  for (let n = 0; n < 30; n++) writeFileSync(path.join(code, `server-${n}.code`), "old");
  for (let n = 0; n < 30; n++) mkdirSync(path.join(path.dirname(code), `old-${n}`), { recursive: true });

  run(bundle).keepCode();

  assert(readdirSync(code).length <= 12);
  assert(readdirSync(path.dirname(code)).length <= 4);
});

test("a checkout that cannot be written is cached for the user, apart from others", () => {
  const env = { XDG_CACHE_HOME: "/caches" };

  assert.match(checkoutBundle("/proc/one", env), /^\/caches\/orlop\/bundle\/[0-9a-f]+$/);
  assert.notEqual(checkoutBundle("/proc/one", env), checkoutBundle("/proc/two", env));
  assert.equal(checkoutBundle(root, env), path.join(root, ".cache/bundle"));
});

test("without the home of a user in the environment, code is never read from a folder that others can write", () => {
  const folder = checkoutBundle("/proc/one", { XDG_CACHE_HOME: "caches" });

  assert.ok(folder.startsWith(`${userInfo().homedir}/.cache/orlop/`), folder);
});

test("a bundle whose script was removed is none", () => {
  const bundle = write();
  assert.ok(findBundle(folder, bundle.source));

  rmSync(path.join(bundle.folder, scriptFile));

  assert.equal(findBundle(folder, bundle.source), undefined);
});

test("a damaged manifest or script is no bundle, and the sources are loaded", () => {
  for (const text of ["{}", "null", "[", '{"folder":"one","sources":[],"stamps":[],"others":[]}']) {
    const { source: sources } = write();
    writeFileSync(path.join(folder, manifestFile), text);
    assert.equal(findBundle(folder, sources), undefined, text);
  }
  const { folder: one } = write();
  truncateSync(path.join(one, scriptFile), 20);
  assert.equal(openModules(source, "server"), undefined);
});

test("what somebody else could have written is not run", () => {
  const bundle = write();
  run(bundle).keepCode();
  chmodSync(code, 0o777);
  assert.equal(new CompiledCode(code, "server", source).read(), undefined);
  chmodSync(code, 0o755);
  assert.ok(new CompiledCode(code, "server", source).read());

  chmodSync(bundle.folder, 0o777);
  assert.equal(findBundle(folder, source), undefined);
  chmodSync(bundle.folder, 0o755);
  assert.ok(findBundle(folder, source));
  chownSync(path.join(bundle.folder, scriptFile), 4001, 4001);
  assert.equal(findBundle(folder, source), undefined);
});
