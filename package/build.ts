/**
 * Writes the package into .package/, for `npm pack` and `npm publish`. Node does not strip types below node_modules, so each
 * module of src/ becomes JavaScript with the same lines and columns, and a declaration. A server runs them as one bundle.
 */
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import path from "node:path";
import { packageBundle } from "#lib/bundle/places.ts";
import { writeBundle } from "./bundle.ts";

const root = path.resolve(import.meta.dirname, "..");
const src = path.join(root, "src");
const out = path.join(root, ".package");
const dist = path.join(out, "dist");
/** What the package holds besides its modules. */
const copied = ["orlop", "LICENSE", "CHANGELOG.md", "docs", "examples"];

function build(): void {
  rmSync(out, { recursive: true, force: true });
  mkdirSync(dist, { recursive: true });
  const tsc = path.join(root, "node_modules/.bin/tsc");
  // `npm run check` has checked the types; here it would take three quarters of the time.
  // Several checkers would each work out types that others need too.
  const args = ["--project", path.join(root, "package"), "--noCheck", "--checkers", "1"];
  execFileSync(tsc, args, { stdio: "inherit", env: { ...process.env, GOGC: "off" } });
  for (const file of globSync("**/*.d.ts", { cwd: dist })) {
    const target = path.join(dist, file);
    writeFileSync(target, linkToJavaScript(readFileSync(target, "utf8"), file));
  }
  for (const file of globSync("**/*.ts", { cwd: src, exclude: ["**/*.test.ts", "**/*.suite.ts"] })) {
    const target = path.join(dist, file.replace(/\.ts$/, ".js"));
    mkdirSync(path.dirname(target), { recursive: true });
    writeFileSync(target, linkToJavaScript(stripTypeScriptTypes(readFileSync(path.join(src, file), "utf8")), file));
  }
}

/** Rewrites imports of our modules (`#folder/file.ts` and `./file.ts`) to relative paths that end in `.js`. */
function linkToJavaScript(text: string, file: string): string {
  const folder = path.join(src, path.dirname(file));
  return text.replace(/"(#|\.{1,2}\/)([^"\n]+\.ts)"/g, (_mention, start: string, rest: string) => {
    const target = start === "#" ? path.join(src, rest) : path.resolve(folder, start + rest);
    if (!existsSync(target)) throw new Error(`${file} mentions ${start}${rest}, which does not exist`);
    const relative = path.relative(folder, target).replace(/\.ts$/, ".js");
    return `"${relative.startsWith(".") ? relative : `./${relative}`}"`;
  });
}

/** What a user's project needs to know. A dependency with programs would put them into the project's `.bin`. */
function writeManifest(): void {
  const own = JSON.parse(readFileSync(path.join(root, "package.json"), "utf8"));
  const { scripts: _s, imports: _i, optionalDependencies: _o, devDependencies: _d, private: _p, ...rest } = own;
  // A checkout has sources, and the package only what is built from them.
  const exported = Object.entries<string | { default: string }>(own.exports);
  const exports = Object.fromEntries(exported.map(([name, to]) => [name, typeof to === "string" ? to : to.default]));
  const files = ["dist", ...copied.filter((name) => name !== "orlop")];
  writeFileSync(path.join(out, "package.json"), `${JSON.stringify({ ...rest, exports, files }, undefined, 2)}\n`);
  cpSync(path.join(root, "package/README.md"), path.join(out, "README.md"));
  for (const name of copied) cpSync(path.join(root, name), path.join(out, name), { recursive: true });
}

build();
await writeBundle({
  source: dist,
  extension: ".js",
  entries: ["cli/start/start.js"],
  out: packageBundle(dist),
  isFixed: true,
});
writeManifest();
