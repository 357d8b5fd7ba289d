import { own } from "#lib/data/own.ts";
import { maxKeyChars } from "#lib/text/long-text.ts";
import { optional, present } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import { atomicList, map, string } from "#schema/types.ts";
import { type Cursor } from "../cursor.ts";
import { badRequest } from "../status.ts";
import { labelValue, qualifiedName } from "./names.ts";

const object = inPackage("meta/v1");

export const LabelSelectorRequirement = object("LabelSelectorRequirement", "A condition on one label.", {
  key: present(1, string(), "Key of the label that the condition is about."),
  operator: present(2, string(), "How the label is compared: In, NotIn, Exists or DoesNotExist."),
  values: optional(3, atomicList(string()), "Values for In and NotIn; must be empty for Exists and DoesNotExist."),
});
export interface LabelSelectorRequirement extends Infer<typeof LabelSelectorRequirement> {}

export const LabelSelector = object.atomic(
  "LabelSelector",
  "Selects objects by their labels. An empty one selects all.",
  {
    matchLabels: optional(1, map(string()), "Labels that an object must have, with these values."),
    matchExpressions: optional(2, atomicList(LabelSelectorRequirement), "Conditions on labels. All of them must hold."),
  },
);
export interface LabelSelector extends Infer<typeof LabelSelector> {}

type Labels = Readonly<Record<string, string>>;

/** Whether all of the wanted labels are there. No wanted labels match everything. */
export function matchesLabels(wanted: Labels, labels: Labels | undefined): boolean {
  for (const key in wanted) if (labelOf(labels, key) !== wanted[key]) return false;
  return true;
}

const labelOf = (labels: Labels | undefined, key: string): string | undefined =>
  labels && Object.hasOwn(labels, key) ? labels[key] : undefined;

export const isEmptySelector = ({ matchLabels, matchExpressions }: LabelSelector): boolean =>
  (matchExpressions?.length ?? 0) === 0 && Object.keys(matchLabels ?? {}).length === 0;

export function validateLabels(at: Cursor<Labels | undefined>): void {
  for (const [key, value] of Object.entries(at.value ?? {})) {
    at.rule(qualifiedName, key);
    at.rule(labelValue, value);
  }
}

export function validateLabelSelector(at: Cursor<LabelSelector>): void {
  at.on("matchLabels", validateLabels);
  at.each("matchExpressions", (at) => validateSelectorRequirement(at));
}

export function validateSelectorRequirement(
  at: Cursor<LabelSelectorRequirement>,
  operators: "known operators" | "any operator" = "known operators",
): void {
  const isKnown = validateOperatorValues(at);
  if (!isKnown && operators === "known operators") at.field("operator").invalid("not a valid selector operator");
  at.field("key").rule(qualifiedName);
  at.each("values", (at) => at.rule(labelValue));
}

/** Checks that there are values for the operators that need some. Returns false for any other operator. */
export function validateOperatorValues(at: Cursor<{ operator: string; values?: readonly string[] }>): boolean {
  const { operator, values = [] } = at.value;
  if (operator === "In" || operator === "NotIn") {
    at.field("values").required("must be specified when `operator` is 'In' or 'NotIn'");
  } else if (operator !== "Exists" && operator !== "DoesNotExist") return false;
  else if (values.length > 0) {
    at.field("values").forbidden("may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
  }
  return true;
}

/** The operators of a selector in a query string. */
export type Operator = "=" | "==" | "!=" | "in" | "notin" | "exists" | "!" | "gt" | "lt";
export interface Requirement {
  readonly key: string;
  readonly operator: Operator;
  /** Sorted, without repetition. */
  readonly values: readonly string[];
}

export const matchesRequirements = (requirements: readonly Requirement[], labels: Labels | undefined): boolean =>
  requirements.every((requirement) => matchesRequirement(requirement, labels));

function matchesRequirement({ key, operator, values }: Requirement, labels: Labels | undefined): boolean {
  const value = labelOf(labels, key);
  switch (operator) {
    case "=":
    case "==":
    case "in":
      return value !== undefined && values.includes(value);
    case "!=":
    case "notin":
      return value === undefined || !values.includes(value);
    case "exists":
      return value !== undefined;
    case "!":
      return value === undefined;
    default: {
      const [bound] = values;
      if (value === undefined || bound === undefined || !isInteger(value) || !isInteger(bound)) return false;
      return operator === "gt" ? BigInt(value) > BigInt(bound) : BigInt(value) < BigInt(bound);
    }
  }
}

/** Whether it is what Go reads as an int64. */
const isInteger = (text: string): boolean =>
  /^[-+]?\d{1,63}$/.test(text) && BigInt.asIntN(64, BigInt(text)) === BigInt(text);

/** The selector as text, as clients send it: `a=b,c in (d,e),!f`. */
export function formatLabelSelector(selector: LabelSelector | undefined): string {
  const texts = requirementsOf(selector).map(formatRequirement);
  return texts.join(",");
}

/** `a=b,c=d`, sorted by key. */
export const formatLabels = (labels: Labels = {}): string =>
  Object.keys(labels)
    .sort()
    .map((key) => `${key}=${labels[key]}`)
    .join(",");

/** The conditions of a selector, sorted by key, without those whose operator nobody knows. */
export function requirementsOf(selector: LabelSelector | undefined): Requirement[] {
  const { matchLabels = {}, matchExpressions = [] } = selector ?? {};
  const operators: Readonly<Record<string, Operator>> = {
    In: "in",
    NotIn: "notin",
    Exists: "exists",
    DoesNotExist: "!",
  };
  const requirements: Requirement[] = Object.entries(matchLabels).map(([key, value]) => ({
    key,
    operator: "=",
    values: [value],
  }));
  for (const { key, operator, values = [] } of matchExpressions) {
    const known = own(operators, operator);
    if (known) requirements.push({ key, operator: known, values: values.toSorted() });
  }
  return requirements.sort(byKey);
}

const byKey = (a: Requirement, b: Requirement): number => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0);

function formatRequirement({ key, operator, values }: Requirement): string {
  switch (operator) {
    case "exists":
      return key;
    case "!":
      return `!${key}`;
    case "in":
    case "notin":
      return `${key} ${operator} (${values.join(",")})`;
    case "gt":
      return `${key}>${values[0]}`;
    case "lt":
      return `${key}<${values[0]}`;
    default:
      return `${key}${operator}${values[0]}`;
  }
}

/** Reads the selector of a query string. Takes time in proportion to its length. */
export function parseLabelSelector(text: string): Requirement[] {
  if (text.length > maxKeyChars) throw badRequest(`the label selector is longer than ${maxKeyChars} characters`);
  const tokens = tokenize(text);
  const requirements: Requirement[] = [];
  while (tokens.at().type !== "end") {
    if (!isStart(tokens.at())) throw unexpected(tokens.at(), ", expected: !, identifier, or 'end of string'");
    requirements.push(parseRequirement(tokens));
    const next = tokens.take();
    if (next.type === "end") break;
    if (next.text !== ",") throw unexpected(next, ", expected: ',' or 'end of string'");
    if (!isStart(tokens.at())) throw unexpected(tokens.at(), ", expected: identifier after ','");
  }
  return requirements.sort(byKey);
}

const isStart = ({ type, text }: Token): boolean => type === "word" || text === "!";
const unexpected = ({ text }: Token, expected: string): Error => badRequest(`found '${text}'${expected}`);
const inRequirement = (message: string): Error => badRequest(`unable to parse requirement: ${message}`);

interface Token {
  readonly type: "word" | "symbol" | "end";
  readonly text: string;
}
interface Tokens {
  at(): Token;
  take(): Token;
}

const end: Token = { type: "end", text: "" };
const tokenPattern = /[ \t\r\n]*(?:([^=!(),<> \t\r\n]+)|(==|!=|[=!(),<>]))/gy;

function tokenize(text: string): Tokens {
  const tokens: Token[] = [];
  const [visible = ""] = text.split("\0", 1);
  for (const [, word, symbol = ""] of visible.matchAll(tokenPattern)) {
    tokens.push(word === undefined ? { type: "symbol", text: symbol } : { type: "word", text: word });
  }
  let position = 0;
  return { at: () => tokens[position] ?? end, take: () => tokens[position++] ?? end };
}

function parseRequirement(tokens: Tokens): Requirement {
  let first = tokens.take();
  const absent = first.text === "!" && first.type === "symbol";
  if (absent) first = tokens.take();
  if (first.type !== "word") throw inRequirement(`found '${first.text}', expected: identifier`);
  const key = first.text;
  const faults = qualifiedName.all(key);
  if (faults.length > 0) throw inRequirement(`<nil>: Invalid value: ${JSON.stringify(key)}: ${faults.join("; ")}`);
  if (absent) return { key, operator: "!", values: [] };
  const next = tokens.at();
  if (next.type === "end" || next.text === ",") return { key, operator: "exists", values: [] };
  return checked(parseOperation(key, tokens));
}

const operators: Readonly<Record<string, Operator>> = {
  "=": "=",
  "==": "==",
  "!=": "!=",
  in: "in",
  notin: "notin",
  ">": "gt",
  "<": "lt",
};

function parseOperation(key: string, tokens: Tokens): Requirement {
  const { text } = tokens.take();
  const operator = Object.hasOwn(operators, text) ? operators[text] : undefined;
  if (!operator) throw inRequirement(`found '${text}', expected: in, notin, =, ==, !=, gt, lt`);
  const values = operator === "in" || operator === "notin" ? parseValues(tokens) : [parseValue(tokens)];
  return { key, operator, values: [...new Set(values)].sort() };
}

function parseValue(tokens: Tokens): string {
  const next = tokens.at();
  if (next.type === "end" || next.text === ",") return "";
  tokens.take();
  if (next.type !== "word") throw inRequirement(`found '${next.text}', expected: identifier`);
  return next.text;
}

/** `(a, b)`; two commas with nothing between them stand for the empty value. */
function parseValues(tokens: Tokens): string[] {
  const open = tokens.take();
  if (open.text !== "(") throw inRequirement(`found '${open.text}' expected: '('`);
  const values: string[] = [];
  if (tokens.at().text !== ")" && tokens.at().text !== "," && tokens.at().type !== "word") {
    throw inRequirement(`found '${tokens.at().text}', expected: ',', ')' or identifier`);
  }
  for (let afterComma = true; ; ) {
    const next = tokens.take();
    if (next.type === "word") {
      values.push(next.text);
      afterComma = false;
      const { text } = tokens.at();
      if (text !== "," && text !== ")") throw inRequirement(`found '${text}', expected: ',' or ')'`);
    } else if (next.text === "," || next.text === ")") {
      if (afterComma) values.push("");
      if (next.text === ")") return values;
      afterComma = true;
    } else {
      throw inRequirement(`found '${next.text}', expected: ',', or identifier`);
    }
  }
}

function checked(requirement: Requirement): Requirement {
  const { key, operator, values } = requirement;
  const faults: string[] = [];
  if (operator === "gt" || operator === "lt") {
    for (const [index, value] of values.entries()) {
      if (isInteger(value)) continue;
      const text = "for 'Gt', 'Lt' operators, the value must be an integer";
      faults.push(`values[${index}]: Invalid value: ${JSON.stringify(value)}: ${text}`);
    }
  }
  for (const [index, value] of values.entries()) {
    const wrong = labelValue.all(value);
    if (wrong.length === 0) continue;
    faults.push(`values[${index}][${key}]: Invalid value: ${JSON.stringify(value)}: ${wrong.join("; ")}`);
  }
  if (faults.length > 0) throw inRequirement(faults.length === 1 ? `${faults[0]}` : `[${faults.join(", ")}]`);
  return requirement;
}
