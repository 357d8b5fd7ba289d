/**
 * The value of one variable in an env file: lines of `NAME='value'`, in which a value may have several lines and
 * means what it says. Undefined if the variable is not there; throws for a file of another form.
 */
export function variableIn(text: string, key: string): string | undefined {
  const lines = text.split("\n");
  for (let at = 0; at < lines.length; at++) {
    const line = (lines[at] ?? "").trimStart();
    if (line === "" || line.startsWith("#")) continue;
    const [, name = "", blank = "", rest = ""] = /^([^=]*?)(\s*)=(.*)$/s.exec(line) ?? [];
    if (!line.includes("=")) throw malformed(at, "missing '='");
    if (name === "") throw malformed(at, "empty variable name");
    if (blank !== "") throw malformed(at, "whitespace before '=' is not allowed");
    // As in a shell, a blank ends the assignment.
    if (/^[ \t]/.test(rest)) {
      if (name === key) return undefined;
      continue;
    }
    if (!rest.startsWith("'")) throw malformed(at, "value must be enclosed in single quotes");
    const begin = at;
    let value = rest.slice(1);
    while (!value.includes("'")) {
      at++;
      if (at >= lines.length) throw malformed(begin, "unclosed single quote");
      value += `\n${lines[at] ?? ""}`;
    }
    const end = value.indexOf("'");
    const after = value.slice(end + 1).trim();
    if (after !== "" && !after.startsWith("#")) throw malformed(at, "unexpected content after closing quote");
    if (name === key) return value.slice(0, end) || undefined;
  }
  return undefined;
}

const malformed = (index: number, why: string): Error =>
  new Error(`invalid environment variable format at line ${index + 1}: ${why}`);
