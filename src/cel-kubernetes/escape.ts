/** Words that an expression cannot use as a name. */
const reserved = new Set(
  "true false null in as break const continue else for function if import let loop package namespace return var void while".split(
    " ",
  ),
);

const escapes: Readonly<Record<string, string>> = {
  __: "__underscores__",
  ".": "__dot__",
  "-": "__dash__",
  "/": "__slash__",
};

/** The name of a field as an expression spells it: `my-field` is `my__dash__field`. Undefined if it cannot be spelled. */
export function escapeName(name: string): string | undefined {
  if (!/^[A-Za-z_./-][A-Za-z0-9_./-]*$/.test(name)) return undefined;
  if (reserved.has(name)) return `__${name}__`;
  return name.replace(/__|[./-]/g, (part) => escapes[part] ?? part);
}

/** Every way to spell a field: a reserved word after a dot is clear as it is. */
export function spellingsOf(name: string): string[] {
  const escaped = escapeName(name);
  if (escaped === undefined) return [];
  return reserved.has(name) ? [escaped, name] : [escaped];
}

const unescapes: ReadonlyMap<string, string> = new Map(
  Object.entries(escapes).map(([part, escaped]) => [escaped, part]),
);

/** The name that an escaped one stands for. */
export function unescapeName(escaped: string): string {
  const word = escaped.startsWith("__") && escaped.endsWith("__") ? escaped.slice(2, -2) : "";
  if (reserved.has(word)) return word;
  return escaped.replace(/__(?:underscores|dot|dash|slash)__/g, (part) => unescapes.get(part) ?? part);
}
