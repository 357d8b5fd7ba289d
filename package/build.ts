/**
 * `npm pack` runs this. It writes the package into dist/, because Node does not strip types below node_modules. Each module
 * of src/ becomes JavaScript with the same lines and columns, and a declaration.
 */
import { execFileSync } from "node:child_process";
import { existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import path from "node:path";

const root = path.resolve(import.meta.dirname, "..");
const src = path.join(root, "src");
const dist = path.join(root, "dist");

function build(): void {
  rmSync(dist, { recursive: true, force: true });
  const tsc = path.join(root, "node_modules/.bin/tsc");
  // `npm run check` has checked the types; here it would take three quarters of the time.
  execFileSync(tsc, ["--project", path.join(root, "package"), "--noCheck"], { stdio: "inherit" });
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

build();
