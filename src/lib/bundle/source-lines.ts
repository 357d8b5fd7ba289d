import { readFileSync } from "node:fs";
import { bytesPerLine, linesFile } from "./bundle-files.ts";
import { type Bundle } from "./find-bundle.ts";

/** Lets the stacks of errors name the sources in place of the bundle. What that needs is read with the first stack. */
export function showSourceLines(bundle: Bundle, script: string): void {
  let lines: Buffer | undefined;
  const sourceAt = (line: number): string | undefined => {
    lines ??= readLines(bundle);
    const offset = (line - 1) * bytesPerLine;
    if (offset < 0 || offset + bytesPerLine > lines.length) return undefined;
    const source = bundle.manifest.sources[lines.readUInt16LE(offset) - 1];
    return source && `${bundle.source}/${source}:${lines.readUInt16LE(offset + 2)}`;
  };
  Error.prepareStackTrace = (error, frames) =>
    [headOf(error), ...frames.map((frame) => `    at ${rendered(frame, script, sourceAt)}`)].join("\n");
}

/** Without them, stacks name the lines of the bundle: it may have been replaced while this process ran. */
function readLines({ folder }: Bundle): Buffer {
  try {
    return readFileSync(`${folder}/${linesFile}`);
  } catch {
    return Buffer.alloc(0);
  }
}

function headOf(error: Error): string {
  try {
    return String(error);
  } catch {
    return "Error";
  }
}

function rendered(frame: NodeJS.CallSite, script: string, sourceAt: (line: number) => string | undefined): string {
  const text = String(frame);
  if (frame.getFileName() !== script) return text;
  const line = frame.getLineNumber() ?? 0;
  const source = sourceAt(line);
  return source ? text.replace(`${script}:${line}:${frame.getColumnNumber()}`, () => source) : text;
}
