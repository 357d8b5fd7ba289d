import { badRequest } from "#api/status.ts";

/**
 * The path was authorized segment by segment. A server that reads it otherwise (that resolves dots, decodes slashes or
 * drops empty segments) would do something else than was allowed, so such paths are not passed on.
 */
export function checkPath(path: string): void {
  const parts = path.split("/").slice(1);
  if (parts.at(-1) === "") parts.pop();
  if (!parts.every(isPlain)) throw badRequest("the path has segments that another server could read differently");
}

function isPlain(part: string): boolean {
  if (!part.includes("%")) return part !== "" && part !== "." && part !== ".." && !odd.test(part);
  try {
    const decoded = decodeURIComponent(part);
    return decoded !== "." && decoded !== ".." && !odd.test(decoded);
  } catch {
    return false;
  }
}

/** Slashes of both kinds, and control characters. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to find
const odd = /[\u0000-\u001f\u007f/\\]/;
