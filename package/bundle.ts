/**
 * Writes the modules of a folder as one script, which `src/lib/bundle` runs. A checkout has it in `.cache/`, made from `src/`;
 * the package has it in `dist/`, made from the JavaScript there.
 */
import { createHash } from "node:crypto";
import { globSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { SourceMap } from "node:module";
import path from "node:path";
import { build, type Plugin } from "esbuild";
import {
  bytesPerLine,
  linesFile,
  type Manifest,
  manifestFile,
  type Stamp,
  scriptFile,
  scriptParameters,
} from "#lib/bundle/bundle-files.ts";
import { stampOf } from "#lib/bundle/find-bundle.ts";
import { isOurs } from "#lib/bundle/places.ts";

const root = path.resolve(import.meta.dirname, "..");

export interface BundleOptions {
  /** The folder of the sources. */
  readonly source: string;
  readonly extension: ".ts" | ".js";
  /** The modules that are loaded by their paths. The bundle has these and what they import, now or later. */
  readonly entries: readonly string[];
  /** Where the bundle is kept. */
  readonly out: string;
  /** Whether the sources never change, so that nobody compares them with the bundle. */
  readonly isFixed?: boolean;
}

/** Builds the bundle, and makes it the current one when all of it is written. Returns its folder. */
export async function writeBundle(options: BundleOptions): Promise<string> {
  const { source, extension, entries, out, isFixed = false } = options;
  const all = modulesOf(source, extension);
  const builtWith = isFixed ? [] : [import.meta.filename, path.join(root, "package.json")];
  const stampFor = (file: string): Stamp => stampOf(path.resolve(source, file));
  // Before anything is read: a source that changes meanwhile makes the bundle stale, and is never missed.
  const stamps = new Map(isFixed ? [] : all.map((file) => [file, stampFor(file)]));
  const others = builtWith.map((file) => ({ file: path.relative(source, file), stamp: stampFor(file) }));
  mkdirSync(out, { recursive: true });
  if (!isOurs(out, source)) throw new Error(`${out} belongs to somebody else`);
  const { script, map, modules } = await bundled(source, entries, all);
  const lines = linesOf(map, { source, modules, script });
  const folder = createHash("sha256").update(script).update(lines).digest("hex").slice(0, 16);
  mkdirSync(path.join(out, folder), { recursive: true });
  replace(path.join(out, folder, scriptFile), script);
  replace(path.join(out, folder, linesFile), lines);
  const manifest: Manifest = {
    folder,
    sources: modules,
    stamps: [...stamps].filter(([file]) => modules.includes(file)).map(([, stamp]) => stamp),
    others,
  };
  replace(path.join(out, manifestFile), JSON.stringify(manifest));
  for (const name of readdirSync(out)) {
    if (name !== folder && isBundleName(name)) rmSync(path.join(out, name), { recursive: true, force: true });
  }
  return path.join(out, folder);
}

/** Nothing else is removed, whatever somebody keeps there. */
const isBundleName = (name: string): boolean => /^(?:[0-9a-f]{16}|manifest\.json\.\d+)$/.test(name);

/** All modules below a folder. Files in `bin/` and those that wait at their top level are programs. */
function modulesOf(source: string, extension: string): string[] {
  const exclude = ["bin/**", "bundle/**", "**/*.test.*", "**/*.suite.*", "**/*.d.ts"];
  const waits = /^((for )?await|(export )?(const|let) [^=]+ = await)\b/m;
  return globSync(`**/*${extension}`, { cwd: source, exclude })
    .filter((file) => !waits.test(readFileSync(path.join(source, file), "utf8")))
    .sort();
}

interface Bundled {
  readonly script: string;
  readonly map: string;
  /** Those that the bundle has. */
  readonly modules: readonly string[];
}

/** Only entries get an object with their exports: it would have to be made for each module at every start. */
async function bundled(source: string, entries: readonly string[], all: readonly string[]): Promise<Bundled> {
  const doors = entries.map((file) => `  ${JSON.stringify(file)}: () => require(${JSON.stringify(`./${file}`)}),`);
  const { outputFiles, metafile } = await build({
    stdin: { contents: `export const modules = {\n${doors.join("\n")}\n};\n`, resolveDir: source },
    absWorkingDir: source,
    outfile: path.join(source, scriptFile),
    bundle: true,
    write: false,
    metafile: true,
    platform: "node",
    target: "esnext",
    format: "cjs",
    packages: "external",
    // One byte for each character in memory.
    charset: "ascii",
    legalComments: "none",
    sourcemap: "external",
    sourcesContent: false,
    banner: { js: `(function (${scriptParameters.join(", ")}) {` },
    footer: { js: "})" },
    plugins: [placeModules(source, all)],
    logLevel: "error",
  });
  const outputOf = (ending: string) => outputFiles.find((file) => file.path.endsWith(ending))?.text ?? "";
  const modules = all.filter((file) => Object.hasOwn(metafile.inputs, file));
  return { script: outputOf(".js"), map: outputOf(".map"), modules };
}

/** A module in the bundle stands for the file that it was made from: `import.meta` has the paths of that file. */
function placeModules(source: string, modules: readonly string[]): Plugin {
  const placed = new Map<string, string>();
  for (const file of modules) {
    const text = readFileSync(path.join(source, file), "utf8");
    if (text.includes("import.meta")) placed.set(path.join(source, file), file);
  }
  return {
    name: "place-modules",
    setup({ onLoad }) {
      onLoad({ filter: /\.[jt]s$/ }, ({ path: full }) => {
        const file = placed.get(full);
        if (file === undefined) return undefined;
        const contents = readFileSync(full, "utf8").replace(/\bimport\.meta\.(\w+)/g, (_, name: string) =>
          place(file, name),
        );
        return { contents, loader: full.endsWith(".ts") ? "ts" : "js" };
      });
    },
  };
}

function place(file: string, name: string): string {
  const folder = path.dirname(file);
  if (name === "url") return `(__sourceUrl + ${JSON.stringify(file)})`;
  if (name === "filename") return `(__sourceFolder + ${JSON.stringify(`/${file}`)})`;
  if (name === "dirname") return `(__sourceFolder + ${JSON.stringify(folder === "." ? "" : `/${folder}`)})`;
  throw new Error(`${file} uses import.meta.${name}, which a bundle does not have`);
}

interface Lined {
  readonly source: string;
  readonly modules: readonly string[];
  readonly script: string;
}

/** The source and its line for each line of the script. */
function linesOf(map: string, { source, modules, script }: Lined): Buffer {
  const places = new SourceMap(JSON.parse(map));
  const indexes = new Map(modules.map((file, index) => [path.join(source, file), index + 1]));
  const count = script.split("\n").length;
  const lines = Buffer.alloc(count * bytesPerLine);
  for (let line = 0; line < count; line++) {
    const entry = places.findEntry(line, Number.MAX_SAFE_INTEGER);
    if (!("originalSource" in entry) || entry.generatedLine !== line) continue;
    lines.writeUInt16LE(indexes.get(path.resolve(source, entry.originalSource)) ?? 0, line * bytesPerLine);
    lines.writeUInt16LE(entry.originalLine + 1, line * bytesPerLine + 2);
  }
  return lines;
}

function replace(file: string, contents: string | Buffer): void {
  const temporary = `${file}.${process.pid}`;
  writeFileSync(temporary, contents, { flush: true });
  renameSync(temporary, file);
}
