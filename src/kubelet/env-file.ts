/**
 * The value of one variable in an env file: lines of `NAME='value'`, in which a value may have several lines and
 * means what it says. Undefined if the variable is not there; throws for a file of another form.
 */
export function variableIn(text: string, key: string): string | undefined {
  for (const { name, value } of assignmentsIn(text)) if (name === key) return value || undefined;
  return undefined;
}

/** One after the other: what is wrong behind the one that is wanted does not matter. */
function* assignmentsIn(text: string): Iterable<{ name: string; value: string }> {
  const lines = text.split("\n");
  for (let at = 0; at < lines.length; at++) {
    const line = (lines[at] ?? "").trimStart();
    if (line === "" || line.startsWith("#")) continue;
    const { name, rest } = splitAssignment(line, at);
    // As in a shell, a blank ends the assignment.
    if (/^[ \t]/.test(rest)) {
      yield { name, value: "" };
      continue;
    }
    const { value, last } = readQuoted(lines, at, rest);
    at = last;
    yield { name, value };
  }
}

function splitAssignment(line: string, at: number): { name: string; rest: string } {
  const [, name = "", blank = "", rest = ""] = /^([^=]*?)(\s*)=(.*)$/s.exec(line) ?? [];
  if (!line.includes("=")) throw malformed(at, "missing '='");
  if (name === "") throw malformed(at, "empty variable name");
  if (blank !== "") throw malformed(at, "whitespace before '=' is not allowed");
  return { name, rest };
}

/** From the opening quote to the closing one, which may be some lines further down. */
function readQuoted(lines: readonly string[], first: number, rest: string): { value: string; last: number } {
  if (!rest.startsWith("'")) throw malformed(first, "value must be enclosed in single quotes");
  let value = rest.slice(1);
  let last = first;
  while (!value.includes("'")) {
    last++;
    if (last >= lines.length) throw malformed(first, "unclosed single quote");
    value += `\n${lines[last] ?? ""}`;
  }
  const end = value.indexOf("'");
  const after = value.slice(end + 1).trim();
  if (after !== "" && !after.startsWith("#")) throw malformed(last, "unexpected content after closing quote");
  return { value: value.slice(0, end), last };
}

const malformed = (index: number, why: string): Error =>
  new Error(`invalid environment variable format at line ${index + 1}: ${why}`);
