/**
 * What is wrong with a name, in upstream's words; nothing if it is fine. Calling a rule gives the first fault,
 * `all` gives every one of them.
 */
export interface Rule {
  (value: string): string | undefined;
  all(value: string): readonly string[];
}

const none: readonly string[] = [];

export function rule(all: (value: string) => readonly string[]): Rule {
  return Object.assign((value: string) => all(value)[0], { all });
}

export function regexMessage(message: string, format: string, ...examples: readonly string[]): string {
  const shown = examples.map((example) => `'${example}', `).join(" or ");
  return `${message} (${shown ? `e.g. ${shown}` : ""}regex used for validation is '${format}')`;
}

/** No character of a text takes more than three bytes: most names are short enough without being measured. */
const longerThan = (value: string, max: number): boolean =>
  value.length > max || (value.length * 3 > max && Buffer.byteLength(value) > max);

interface Shape {
  readonly format: string;
  readonly max?: number;
  readonly message: string;
  readonly examples: readonly string[];
  /** What the length is called in a fault; characters by default. */
  readonly unit?: "characters" | "bytes";
  /** A better text for some values that do not fit the format. */
  readonly unfit?: (value: string) => string | undefined;
  /** A fault that the format does not show. */
  readonly also?: (value: string) => string | undefined;
}

/** A rule of one pattern and one length. */
function shaped({ format, max, message, examples, unit = "characters", unfit, also }: Shape): Rule {
  const pattern = new RegExp(`^(?:${format})$`);
  const mismatch = regexMessage(message, format, ...examples);
  return rule((value) => {
    const long = max !== undefined && longerThan(value, max);
    const fits = pattern.test(value);
    const other = also?.(value);
    if (!long && fits && other === undefined) return none;
    const faults: string[] = [];
    if (long) faults.push(`must be no more than ${max} ${unit}`);
    if (!fits) faults.push(unfit?.(value) ?? mismatch);
    if (other !== undefined) faults.push(other);
    return faults;
  });
}

const labelFormat = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const subdomainFormat = `${labelFormat}(\\.${labelFormat})*`;
const subdomainPattern = new RegExp(`^${subdomainFormat}$`);
const subdomainMessage =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character";
const subdomainMax = 253;

export const dns1123Subdomain = shaped({
  format: subdomainFormat,
  max: subdomainMax,
  message: subdomainMessage,
  examples: ["example.com"],
});

export const dns1123Label = shaped({
  format: labelFormat,
  max: 63,
  message:
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
  examples: ["my-name", "123-abc"],
  unfit: (value) => (subdomainPattern.test(value) ? "must not contain dots" : undefined),
});

export const dns1035Label = shaped({
  format: "[a-z]([-a-z0-9]*[a-z0-9])?",
  max: 63,
  message:
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
  examples: ["my-name", "abc-123"],
});

/** A subdomain whose first label is `*`. */
export const wildcardSubdomain = shaped({
  format: `\\*\\.${subdomainFormat}`,
  max: subdomainMax,
  message:
    "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character",
  examples: ["*.example.com"],
});

export const dns1123SubdomainWithUnderscore = shaped({
  format: "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*",
  max: subdomainMax,
  message:
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start and end with an alphanumeric character",
  examples: ["example.com"],
});

const keyFormat = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const keyPattern = new RegExp(`^${keyFormat}$`);
const keyMismatch = regexMessage(
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
  keyFormat,
  "MyName",
  "my.name",
  "123-abc",
);

/** A label key, an annotation key, a finalizer: a name with an optional DNS prefix. */
export const qualifiedName = rule((value) => {
  const slash = value.indexOf("/");
  if (slash !== value.lastIndexOf("/")) {
    return [
      `a valid label key ${keyMismatch} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
    ];
  }
  const name = slash < 0 ? value : value.slice(slash + 1);
  const prefix = slash < 0 ? undefined : value.slice(0, slash);
  const nameFits = keyPattern.test(name) && name.length <= 63;
  if (nameFits && (prefix === undefined || (prefix.length <= subdomainMax && subdomainPattern.test(prefix)))) {
    return none;
  }
  return [...prefixFaults(prefix), ...keyNameFaults(name)];
});

function* prefixFaults(prefix: string | undefined): Iterable<string> {
  if (prefix === undefined) return;
  if (prefix === "") {
    yield "prefix part must be non-empty";
    return;
  }
  if (longerThan(prefix, subdomainMax)) yield `prefix part must be no more than ${subdomainMax} bytes`;
  if (!subdomainPattern.test(prefix)) {
    yield `prefix part ${regexMessage(subdomainMessage, subdomainFormat, "example.com")}`;
  }
}

function* keyNameFaults(name: string): Iterable<string> {
  if (name === "") yield "name part must be non-empty";
  else if (longerThan(name, 63)) yield "name part must be no more than 63 bytes";
  if (!keyPattern.test(name)) yield `name part ${keyMismatch}`;
}

export const labelValue = shaped({
  format: `(${keyFormat})?`,
  max: 63,
  unit: "bytes",
  message:
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
  examples: ["MyValue", "my_value", "12345"],
});

/** Any printable characters except `=`, as the kernel accepts them. */
export const envVarName = rule((value) => {
  if (value === "") return ["environment variable name must be non-empty"];
  if (/^[ -<>-~]+$/.test(value)) return none;
  return ["a valid environment variable name must consist only of printable ASCII characters other than '='"];
});

/** A key of a ConfigMap or Secret. */
export const configMapKey = shaped({
  format: "[-._a-zA-Z0-9]+",
  max: subdomainMax,
  message: "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
  examples: ["key.name", "KEY_NAME", "key-name"],
  also: climbs,
});

function climbs(value: string): string | undefined {
  if (value === ".") return "must not be '.'";
  if (value === "..") return "must not be '..'";
  return value.startsWith("..") ? "must not start with '..'" : undefined;
}

/** The name of a port, as IANA has them. */
export const portName = rule((value) => {
  const faults: string[] = [];
  if (longerThan(value, 15)) faults.push("must be no more than 15 characters");
  if (!/^[-a-z0-9]+$/.test(value)) {
    faults.push("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)");
  }
  if (!/[a-z]/.test(value)) faults.push("must contain at least one letter (a-z)");
  if (value.includes("--")) faults.push("must not contain consecutive hyphens");
  if (value.startsWith("-") || value.endsWith("-")) faults.push("must not begin or end with a hyphen");
  return faults;
});

export const percent = shaped({
  format: "[0-9]+%",
  message: "a valid percent string must be a numeric string followed by an ending '%'",
  examples: ["1%", "93%"],
});

export const httpHeaderName = shaped({
  format: "[-A-Za-z0-9]+",
  message: "a valid HTTP header must consist of alphanumeric characters or '-'",
  examples: ["X-Header-Name"],
});

/** Anything that can be one step of a URL's path. */
export const pathSegmentName = rule((value) => {
  if (value === "." || value === "..") return [`may not be '${value}'`];
  return ["/", "%"].filter((bad) => value.includes(bad)).map((bad) => `may not contain '${bad}'`);
});

export const inclusiveRange = (low: number, high: number): string => `must be between ${low} and ${high}, inclusive`;
export const portNumber = (port: number): string | undefined =>
  port >= 1 && port <= 65535 ? undefined : inclusiveRange(1, 65535);
/** A Unix user or group id. */
export const unixId = (id: number): string | undefined =>
  id >= 0 && id <= 2147483647 ? undefined : inclusiveRange(0, 2147483647);

/** The prefix as it is checked. The generated suffix makes a trailing dash valid. */
export const maskTrailingDash = (prefix: string): string =>
  prefix.length > 1 && prefix.endsWith("-") ? `${prefix.slice(0, -2)}a` : prefix;
