import { isObject } from "../data/json-object.ts";

/** A JSONPath such as `.status.conditions[?(@.type=="Ready")].status`, ready to be read from many values. */
export interface JsonPath {
  /** The values at the path, in order; none where a step leads nowhere, and none once nothing more may be looked at. */
  valuesIn(value: unknown, budget?: Budget): readonly unknown[];
}

/** How many more values may be looked at. Several paths can share it. */
export interface Budget {
  left: number;
}

/** Longer ones are refused: they would only cost time. */
const maxChars = 4096;
/** Values that one step may find, and that a whole path may look at. */
const maxFound = 200;
export const maxVisited = 500;

/** Compiles a path without its braces; undefined if it is not one. Reading it takes bounded time, whatever the path. */
export function compileJsonPath(text: string): JsonPath | undefined {
  const steps = text.length > maxChars ? undefined : parseSteps(text, 0);
  return steps && { valuesIn: (value, budget = { left: maxVisited }) => read(steps, value, budget) };
}

type Step =
  | { readonly type: "name"; readonly name: string }
  | { readonly type: "all" }
  | { readonly type: "below" }
  | { readonly type: "slice"; readonly from: number | undefined; readonly to: number | undefined; readonly by: number }
  | { readonly type: "index"; readonly index: number }
  | { readonly type: "union"; readonly steps: readonly Step[] }
  | { readonly type: "filter"; readonly left: Operand; readonly operator: string; readonly right: Operand | undefined };
type Operand = { readonly path: readonly Step[] } | { readonly value: unknown };

const maxNesting = 4;
const name = /^(?:\\.|[^\\\s.,[\]$@{}'"()])+/s;

function parseSteps(text: string, depth: number): readonly Step[] | undefined {
  const steps: Step[] = [];
  let rest = text.replace(/^[$@]/, "");
  while (rest !== "") {
    if (rest.startsWith("..")) {
      steps.push({ type: "below" });
      rest = name.test(rest.slice(2)) ? rest.slice(1) : rest.slice(2);
    } else if (rest.startsWith(".")) {
      const [found] = /^\*|^/.exec(rest.slice(1)) ?? [""];
      const word = found === "*" ? "*" : name.exec(rest.slice(1))?.[0];
      // A single dot is the value itself.
      if (word === undefined) return rest === "." ? steps : undefined;
      steps.push(word === "*" ? { type: "all" } : { type: "name", name: word.replace(/\\(.)/gs, "$1") });
      rest = rest.slice(1 + word.length);
    } else if (rest.startsWith("[")) {
      const end = endOfBracket(rest);
      const step = end < 0 ? undefined : parseBracket(rest.slice(1, end), depth);
      if (!step) return undefined;
      steps.push(step);
      rest = rest.slice(end + 1);
    } else return undefined;
  }
  return steps;
}

/** The bracket that closes the first one; quotes hide others. */
function endOfBracket(text: string): number {
  let quote = "";
  let open = 0;
  for (let at = 0; at < text.length; at++) {
    const char = text[at] ?? "";
    if (quote !== "") {
      if (char === "\\") at++;
      else if (char === quote) quote = "";
    } else if (char === '"' || char === "'") quote = char;
    else if (char === "[") open++;
    else if (char === "]" && --open === 0) return at;
  }
  return -1;
}

function parseBracket(inside: string, depth: number): Step | undefined {
  if (inside.startsWith("?(") && inside.endsWith(")")) return parseFilter(inside.slice(2, -1), depth);
  const parts = splitUnion(inside);
  if (parts.length === 1) return parseIndex(inside.trim());
  const steps = parts.map((part) => parseIndex(part.trim()));
  return steps.every((step) => step !== undefined) ? { type: "union", steps } : undefined;
}

/** Cuts at commas that are not quoted. A quote without end is a character like any other, and so are all after it. */
function splitUnion(text: string): string[] {
  const parts: string[] = [];
  let start = 0;
  for (let at = 0; at < text.length; at++) {
    const char = text[at] ?? "";
    if (char === "'" || char === '"') {
      const end = endOfQuote(text, at);
      if (end < 0) return [text];
      at = end;
    } else if (char === ",") {
      if (at > start) parts.push(text.slice(start, at));
      start = at + 1;
    }
  }
  if (start < text.length) parts.push(text.slice(start));
  return parts.length > 0 ? parts : [""];
}

function endOfQuote(text: string, from: number): number {
  for (let at = from + 1; at < text.length; at++) {
    if (text[at] === "\\") at++;
    else if (text[at] === text[from]) return at;
  }
  return -1;
}

function parseIndex(text: string): Step | undefined {
  if (text === "*") return { type: "all" };
  const quoted = /^'((?:\\.|[^'\\])*)'$|^"((?:\\.|[^"\\])*)"$/s.exec(text);
  if (quoted) return { type: "name", name: (quoted[1] ?? quoted[2] ?? "").replace(/\\(.)/gs, "$1") };
  if (/^-?[0-9]{1,15}$/.test(text)) return { type: "index", index: Number(text) };
  const slice = /^(-?[0-9]{1,15})?:(-?[0-9]{1,15})?(?::([0-9]{1,15}))?$/.exec(text);
  if (!slice) return undefined;
  const [from, to, by] = slice.slice(1).map((part) => (part === undefined ? undefined : Number(part)));
  return { type: "slice", from, to, by: by || 1 };
}

function parseFilter(text: string, depth: number): Step | undefined {
  if (depth >= maxNesting) return undefined;
  const { left, operator, right } = splitComparison(text.trim());
  const first = parseOperand(operator ? left : text, depth);
  const second = operator ? parseOperand(right, depth) : undefined;
  if (!first || (operator && !second)) return undefined;
  return { type: "filter", left: first, operator, right: second };
}

/** The operator is the first one; without any, there is only a left side. */
function splitComparison(text: string): { left: string; operator: string; right: string } {
  const at = text.search(/[!<>=]/);
  const operator = /^(?:==|!=|<=|>=|<|>)/.exec(text.slice(Math.max(at, 0)))?.[0] ?? "";
  const right = text.slice(at + operator.length);
  if (at < 1 || operator === "" || right === "") return { left: text, operator: "", right: "" };
  return { left: text.slice(0, at), operator, right };
}

function parseOperand(text: string, depth: number): Operand | undefined {
  const trimmed = text.trim();
  const quoted = /^"((?:\\.|[^"\\])*)"$|^'((?:\\.|[^'\\])*)'$/s.exec(trimmed);
  if (quoted) return { value: (quoted[1] ?? quoted[2] ?? "").replace(/\\(.)/gs, "$1") };
  if (/^[+-]?[0-9]+(\.[0-9]+)?$/.test(trimmed)) return { value: Number(trimmed) };
  if (trimmed === "true" || trimmed === "false") return { value: trimmed === "true" };
  const path = parseSteps(trimmed, depth + 1);
  return path && { path };
}

function read(steps: readonly Step[], value: unknown, budget: Budget): readonly unknown[] {
  let found: unknown[] = [value];
  for (const step of steps) {
    const next: unknown[] = [];
    for (const one of found) {
      if (next.length >= maxFound || budget.left <= 0) break;
      take(step, one, next, budget);
    }
    found = next;
    if (found.length === 0) break;
  }
  return found;
}

function take(step: Step, value: unknown, out: unknown[], budget: Budget): void {
  budget.left--;
  if (out.length >= maxFound || budget.left <= 0) return;
  switch (step.type) {
    case "name":
      if (isObject(value) && Object.hasOwn(value, step.name)) out.push(value[step.name]);
      return;
    case "all":
      for (const inner of membersOf(value)) {
        if (out.length >= maxFound) return;
        out.push(inner);
      }
      return;
    case "below":
      out.push(value);
      for (const inner of membersOf(value)) {
        if (out.length >= maxFound || budget.left <= 0) return;
        take(step, inner, out, budget);
      }
      return;
    case "union":
      for (const one of step.steps) take(one, value, out, budget);
      return;
    case "filter":
      for (const inner of Array.isArray(value) ? value : []) {
        if (out.length >= maxFound || --budget.left <= 0) return;
        if (holds(step, inner, budget)) out.push(inner);
      }
      return;
    default:
      if (Array.isArray(value)) takeItems(step, value, out);
  }
}

function takeItems(step: Extract<Step, { type: "index" | "slice" }>, list: readonly unknown[], out: unknown[]): void {
  if (step.type === "index") {
    const item = list.at(step.index);
    if (item !== undefined) out.push(item);
    return;
  }
  const end = placeIn(list, step.to ?? list.length);
  for (let at = placeIn(list, step.from ?? 0); at < end && out.length < maxFound; at += step.by) out.push(list[at]);
}

/** Counted from the end if it is negative, and always within the list. A list may be long, so it is not copied. */
const placeIn = (list: readonly unknown[], at: number): number =>
  at < 0 ? Math.max(list.length + at, 0) : Math.min(at, list.length);

function holds({ left, operator, right }: Extract<Step, { type: "filter" }>, item: unknown, budget: Budget): boolean {
  const resolved = (operand: Operand): unknown =>
    "path" in operand ? read(operand.path, item, budget)[0] : operand.value;
  const mine = resolved(left);
  if (!right) return mine !== undefined;
  const other = resolved(right);
  if (mine === undefined || other === undefined) return false;
  if (operator === "==") return mine === other;
  if (operator === "!=") return mine !== other;
  if (typeof mine !== typeof other || (typeof mine !== "number" && typeof mine !== "string")) return false;
  const [a, b] = [mine as number, other as number];
  if (operator === "<") return a < b;
  if (operator === ">") return a > b;
  return operator === "<=" ? a <= b : a >= b;
}

/** Few members of many are looked at, so they are not listed first. */
function* membersOf(value: unknown): Generator<unknown> {
  if (typeof value !== "object" || value === null) return;
  for (const name in value) if (Object.hasOwn(value, name)) yield (value as Readonly<Record<string, unknown>>)[name];
}
