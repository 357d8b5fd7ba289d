/**
 * Where a bundle is kept: one script that holds the modules of a folder, so that a start reads, links and compiles one file
 * instead of a thousand. docs/decisions/0007-one-bundle.md has the figures.
 *
 *     bundle/
 *       manifest.json       the current bundle and the sources that it was made from
 *       <hash>/
 *         modules.js        a function whose result has the entries by their paths
 *         lines.bin         for each line of it, its source and the line there
 *         server-<tag>.code what V8 compiled in an earlier process, for one version of V8 and its flags
 *
 * Files in a folder named by its hash never change. The manifest is replaced as a whole.
 */
export interface Manifest {
  /** The name of the folder with the files. */
  readonly folder: string;
  /** Relative to the folder of the sources; `lines.bin` has indexes into this list. */
  readonly sources: readonly string[];
  /** What a source was when it was read: size, and the times of its last change, in the order of `sources`. */
  readonly stamps: readonly Stamp[];
  /** Other files on which the bundle depends, such as its builder, relative to the folder of the sources. */
  readonly others: readonly { readonly file: string; readonly stamp: Stamp }[];
}

export type Stamp = readonly [size: number, modifiedMs: number, changedMs: number];

export const manifestFile = "manifest.json";
export const scriptFile = "modules.js";
export const linesFile = "lines.bin";

/** Bytes for each line in `lines.bin`: the index of the source plus one, and the line there. */
export const bytesPerLine = 4;

/** The names of the parameters of the script's function. Modules use the last two in place of `import.meta`. */
export const scriptParameters = ["exports", "require", "module", "__sourceUrl", "__sourceFolder"] as const;
