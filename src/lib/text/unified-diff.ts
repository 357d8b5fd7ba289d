const context = 3;
/** Nobody reads more than this of a message. */
const maxChangedLines = 200;

/**
 * The difference of two texts as one hunk from the first changed line to the last. Empty if they are equal. Of a long
 * difference only the beginning is shown.
 */
export function unifiedDiff(before: string, after: string): string {
  if (before === after) return "";
  const a = before.split("\n");
  const b = after.split("\n");
  const shorter = Math.min(a.length, b.length);
  let head = 0;
  while (head < shorter && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < shorter - head && a.at(-1 - tail) === b.at(-1 - tail)) tail++;

  const from = Math.max(0, head - context);
  const shownTail = Math.min(tail, context);
  const lines = [
    ...a.slice(from, head).map((line) => ` ${line}`),
    ...changed("-", a.slice(head, a.length - tail)),
    ...changed("+", b.slice(head, b.length - tail)),
    ...a.slice(a.length - tail, a.length - tail + shownTail).map((line) => ` ${line}`),
  ];
  const removed = a.length - tail + shownTail - from;
  const added = b.length - tail + shownTail - from;
  return `@@ -${from + 1},${removed} +${from + 1},${added} @@\n${lines.join("\n")}\n`;
}

function changed(sign: "-" | "+", lines: readonly string[]): string[] {
  const shown = lines.slice(0, maxChangedLines).map((line) => sign + line);
  return lines.length > maxChangedLines ? [...shown, `${sign}... ${lines.length - maxChangedLines} more lines`] : shown;
}
