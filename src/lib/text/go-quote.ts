/** A text as Go's `%q` writes it, which differs from JSON in control characters. */
export function goQuote(text: string): string {
  const json = JSON.stringify(text);
  return /\\u00|\u007f/.test(json) ? json.replace(/(\\\\)|\\u00([01][0-9a-f])|\u007f/g, replaced) : json;
}

function replaced(found: string, backslash: string | undefined, code: string | undefined): string {
  if (backslash) return found;
  return (code && short[code]) ?? `\\x${code ?? "7f"}`;
}

const short: Readonly<Record<string, string>> = { "07": "\\a", "0b": "\\v" };
