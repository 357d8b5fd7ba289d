/** What is wrong with an expression, and where: the offset counts code units of the source. */
export interface Issue {
  readonly offset: number;
  readonly message: string;
}

/** More issues than this say nothing new. */
const maxIssues = 100;
/** Every issue repeats its line. This is for the text of all of them, so that a short expression does not become a huge answer. */
const maxCharacters = 32_768;
const maxSnippetLength = 16384;

/** The issues of one expression as text, each with its line and a mark below the place. */
export function renderIssues(source: string, issues: readonly Issue[]): string {
  const lines = source.split("\n");
  const starts: number[] = [];
  let start = 0;
  for (const line of lines) {
    starts.push(start);
    start += line.length + 1;
  }
  const texts: string[] = [];
  let left = maxCharacters;
  for (const issue of [...issues].sort((a, b) => a.offset - b.offset).slice(0, maxIssues)) {
    const text = renderIssue(issue, lines, starts);
    left -= text.length;
    if (left < 0 && texts.length > 0) break;
    texts.push(text);
  }
  if (issues.length > texts.length) texts.push(`${issues.length - texts.length} more errors were truncated`);
  return texts.join("\n");
}

function renderIssue({ offset, message }: Issue, lines: readonly string[], starts: readonly number[]): string {
  if (offset < 0) return `ERROR: <input>:-1:0: ${message}`;
  // There is no line to show.
  if (lines.length === 1 && lines[0] === "") return `ERROR: <input>:1:0: ${message}`;
  const after = starts.findIndex((start) => start > offset);
  const index = after < 0 ? starts.length - 1 : after - 1;
  const line = (lines[index] ?? "").replaceAll("\t", " ");
  const before = [...line.slice(0, offset - (starts[index] ?? 0))];
  const head = `ERROR: <input>:${index + 1}:${before.length + 1}: ${message}`;
  if (Buffer.byteLength(line) > maxSnippetLength) return head;
  const dots = before.map((character) => (isWide(character) ? "．" : ".")).join("");
  const marked = [...line.slice(offset - (starts[index] ?? 0), offset - (starts[index] ?? 0) + 2)][0] ?? "";
  return `${head}\n | ${line}\n | ${dots}${isWide(marked) ? "＾" : "^"}`;
}

const isWide = (character: string): boolean => (character.codePointAt(0) ?? 0) > 0x7f;
