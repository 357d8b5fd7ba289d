import { readFileSync, statSync } from "node:fs";
import { type Manifest, manifestFile, type Stamp, scriptFile } from "./bundle-files.ts";
import { isOurs } from "./places.ts";

/** A bundle that has what the sources say now. */
export interface Bundle {
  readonly folder: string;
  readonly manifest: Manifest;
  /** The folder of the sources. */
  readonly source: string;
}

/**
 * The bundle in a folder; undefined if there is none, or if a source has changed since. The times of the last change are
 * compared for equality, so a clock that was set back and a file that was copied with its times are noticed too.
 */
export function findBundle(folder: string, source: string, isCurrent = isFresh): Bundle | undefined {
  try {
    const manifest = JSON.parse(readFileSync(`${folder}/${manifestFile}`, "utf8")) as Manifest;
    const bundle = { folder: `${folder}/${manifest.folder}`, manifest, source };
    const files = [folder, bundle.folder, `${bundle.folder}/${scriptFile}`];
    const areOurs = files.every((file) => isOurs(file, source));
    return areOurs && manifest.sources.length > 0 && isCurrent(manifest, source) ? bundle : undefined;
  } catch {
    // It was never made, or a part of it is missing or damaged.
    return undefined;
  }
}

function isFresh({ sources, stamps, others }: Manifest, source: string): boolean {
  return (
    sources.every((file, index) => isSame(`${source}/${file}`, stamps[index])) &&
    others.every(({ file, stamp }) => isSame(`${source}/${file}`, stamp))
  );
}

function isSame(file: string, stamp: Stamp | undefined): boolean {
  const found = statSync(file, { throwIfNoEntry: false });
  if (!found || !stamp) return false;
  return found.size === stamp[0] && found.mtimeMs === stamp[1] && found.ctimeMs === stamp[2];
}

export function stampOf(file: string): Stamp {
  const { size, mtimeMs, ctimeMs } = statSync(file);
  return [size, mtimeMs, ctimeMs];
}
