/** Headers must stay small: beyond this all warnings are shortened, and no more are added. */
const maxTotal = 4096;
const maxEach = 256;

/** The values of `Warning` headers: each warning once, in order. */
export function warningHeaders(warnings: readonly string[]): string[] {
  if (warnings.length === 0) return [];
  const texts = [...new Set(warnings)]
    .filter((text) => text !== "")
    .slice(0, maxTotal + 1)
    .map((text) => [...printable(text.slice(0, 2 * maxTotal + 2))]);
  const total = texts.reduce((sum, { length }) => sum + length, 0);
  if (total <= maxTotal) return texts.map((text) => header(text.join("")));
  const headers: string[] = [];
  let written = 0;
  for (const text of texts) {
    if (written >= maxTotal) break;
    const short = text.slice(0, maxEach);
    written += short.length;
    headers.push(header(short.join("")));
  }
  return headers;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: headers cannot carry them
const control = /[\u0000-\u001f\u007f]/g;
const printable = (text: string): string => text.replace(control, " ");

/** Quoted, with its UTF-8 as the bytes of the header. */
const header = (text: string): string => Buffer.from(`299 - "${text.replace(/[\\"]/g, "\\$&")}"`).toString("latin1");
