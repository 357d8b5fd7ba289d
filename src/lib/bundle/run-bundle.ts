import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import vm from "node:vm";
import { scriptFile } from "./bundle-files.ts";
import { CompiledCode } from "./compiled-code.ts";
import { type Bundle } from "./find-bundle.ts";
import { showSourceLines } from "./source-lines.ts";

/** The modules of a bundle. */
export interface Modules {
  /** The exports of a module, by its path below the sources. The first call evaluates it. */
  readonly load: (file: string) => object;
  readonly has: (file: string) => boolean;
  /** Keeps what V8 has compiled so far for the next process with the same purpose, unless it was kept before. */
  readonly keepCode: () => void;
}

/** Where compiled code is kept, and what the process does. */
export interface CodePlace {
  readonly folder: string;
  readonly purpose: string;
}

type Script = (exports: object, require: NodeJS.Require, module: object, url: string, folder: string) => void;

/**
 * Runs a bundle, whose modules are evaluated when they are loaded. The purpose of the process chooses the code that earlier
 * ones compiled: a server and a test run different functions.
 */
export function runBundle(bundle: Bundle, { folder, purpose }: CodePlace): Modules {
  // The name of a file among the sources, so that packages are found from there, wherever the bundle is kept.
  const name = `${bundle.source}/${scriptFile}`;
  const code = new CompiledCode(folder, purpose, bundle.source);
  const script = new vm.Script(readFileSync(`${bundle.folder}/${scriptFile}`, "latin1"), {
    filename: name,
    cachedData: code.read(),
    importModuleDynamically: vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  });
  const isKnown = code.isOwn && script.cachedDataRejected !== true;
  showSourceLines(bundle, name);
  const module: { exports: { readonly modules?: Readonly<Record<string, () => object>> } } = { exports: {} };
  const run = script.runInThisContext() as Script;
  run(module.exports, createRequire(name), module, `${pathToFileURL(bundle.source).href}/`, bundle.source);
  const modules = module.exports.modules ?? {};
  return {
    has: (file) => Object.hasOwn(modules, file),
    load(file) {
      const found = Object.hasOwn(modules, file) ? modules[file] : undefined;
      if (!found) throw new Error(`the bundle ${bundle.folder} has no module ${file}`);
      return found();
    },
    keepCode() {
      if (!isKnown) code.write(script.createCachedData());
    },
  };
}
