import { existsSync } from "node:fs";
import path from "node:path";
import { type Bundle, findBundle } from "./find-bundle.ts";
import { checkoutBundle, codeFolder, packageBundle } from "./places.ts";
import { type Modules, runBundle } from "./run-bundle.ts";

/**
 * The modules of a folder of sources from their bundle; undefined if there is no current one, so that the sources are to be
 * loaded themselves.
 */
export function openModules(source: string, purpose: string): Modules | undefined {
  const root = path.dirname(source);
  const bundle = isBuilt(source) ? findBundle(packageBundle(source), source, () => true) : ofCheckout(root, source);
  if (!bundle) return undefined;
  try {
    return runBundle(bundle, { folder: path.join(codeFolder(root), bundle.manifest.folder), purpose });
  } catch {
    // Another process has just replaced the bundle, or its file is damaged. The sources do the same, more slowly.
    return undefined;
  }
}

/** What is installed as a package does not change. */
export const isBuilt = (source: string): boolean => existsSync(packageBundle(source));

const ofCheckout = (root: string, source: string): Bundle | undefined => findBundle(checkoutBundle(root), source);
