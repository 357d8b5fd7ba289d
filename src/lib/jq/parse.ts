import { functionArities } from "./functions.ts";
import { JqError, type Token, tokensOf, unsupported } from "./tokens.ts";

/** Part of an expression. Each gets one value and gives any number of values. */
export type Node =
  | { readonly type: "identity" }
  | { readonly type: "literal"; readonly value: null | boolean | number | string }
  | { readonly type: "index"; readonly of: Node; readonly key: Node }
  | { readonly type: "slice"; readonly of: Node; readonly from: Node | undefined; readonly to: Node | undefined }
  | { readonly type: "each"; readonly of: Node }
  | { readonly type: "optional"; readonly of: Node }
  | { readonly type: "list"; readonly of: Node | undefined }
  | { readonly type: "if"; readonly condition: Node; readonly then: Node; readonly otherwise: Node }
  | { readonly type: "binary"; readonly sign: string; readonly left: Node; readonly right: Node }
  | { readonly type: "call"; readonly name: string; readonly parameters: readonly Node[] };

const identity: Node = { type: "identity" };
const maxDepth = 50;
const maxNodes = 2000;

/** From the loosest to the tightest. */
const levels: readonly { readonly signs: readonly string[]; readonly joins: "left" | "right" | "once" }[] = [
  { signs: ["|"], joins: "right" },
  { signs: [","], joins: "left" },
  { signs: ["//"], joins: "right" },
  { signs: ["or"], joins: "left" },
  { signs: ["and"], joins: "left" },
  { signs: ["==", "!=", "<", "<=", ">", ">="], joins: "once" },
  { signs: ["+", "-"], joins: "left" },
  { signs: ["*", "/", "%"], joins: "left" },
];
const reserved = ["as", "def", "reduce", "foreach", "try", "catch", "label", "import", "include", "__loc__"];

export function parseJq(source: string): Node {
  const scan: Scan = { tokens: tokensOf(source), position: 0, depth: 0, nodes: 0 };
  const node = parseLevel(scan, 0);
  const rest = peek(scan);
  if (rest.type !== "end") throw unexpected(rest);
  return node;
}

interface Scan {
  readonly tokens: readonly Token[];
  position: number;
  depth: number;
  nodes: number;
}

const peek = ({ tokens, position }: Scan): Token => tokens[position] ?? { type: "end", text: "", at: 0 };

function next(scan: Scan): Token {
  const token = peek(scan);
  scan.position++;
  return token;
}

const isAt = (scan: Scan, text: string): boolean => {
  const token = peek(scan);
  return token.text === text && (token.type === "sign" || token.type === "name");
};

function take(scan: Scan, text: string): boolean {
  if (!isAt(scan, text)) return false;
  scan.position++;
  return true;
}

function expect(scan: Scan, text: string): void {
  const token = peek(scan);
  if (!take(scan, text)) throw new JqError(`needs ${JSON.stringify(text)} at character ${token.at}`);
}

function parseLevel(scan: Scan, level: number): Node {
  const rules = levels[level];
  if (!rules) return parsePostfix(scan);
  if (++scan.depth > maxDepth * levels.length) throw new JqError("is nested too deeply");
  let left = parseLevel(scan, level + 1);
  for (;;) {
    const sign = rules.signs.find((one) => isAt(scan, one));
    if (!sign) break;
    scan.position++;
    const right = parseLevel(scan, rules.joins === "right" ? level : level + 1);
    left = counted(scan, { type: "binary", sign, left, right });
    if (rules.joins !== "left") break;
  }
  scan.depth--;
  return left;
}

function counted(scan: Scan, node: Node): Node {
  if (++scan.nodes > maxNodes) throw new JqError("is too large");
  return node;
}

/** A term and what follows it without a space: `.a`, `[0]`, `[]`, `?`. */
function parsePostfix(scan: Scan): Node {
  let node = parseTerm(scan);
  for (;;) {
    const token = peek(scan);
    if (token.type === "field") node = counted(scan, fieldOf(node, next(scan).text));
    else if (take(scan, "?")) node = counted(scan, { type: "optional", of: node });
    else if (isAt(scan, "[")) node = parseBracket(scan, node);
    else if (isAt(scan, ".")) node = parseAfterDot(scan, node);
    else return node;
  }
}

const fieldOf = (of: Node, name: string): Node => ({ type: "index", of, key: { type: "literal", value: name } });

/** `."name"` and `.[…]` */
function parseAfterDot(scan: Scan, of: Node): Node {
  const dot = next(scan);
  const token = peek(scan);
  if (token.type === "text") return counted(scan, fieldOf(of, next(scan).text));
  if (isAt(scan, "[")) return parseBracket(scan, of);
  throw unexpected(token.type === "end" ? dot : token);
}

function parseBracket(scan: Scan, of: Node): Node {
  expect(scan, "[");
  if (take(scan, "]")) return counted(scan, { type: "each", of });
  const from = isAt(scan, ":") ? undefined : parseLevel(scan, 0);
  if (!take(scan, ":")) {
    expect(scan, "]");
    return counted(scan, { type: "index", of, key: from ?? identity });
  }
  const to = isAt(scan, "]") ? undefined : parseLevel(scan, 0);
  expect(scan, "]");
  return counted(scan, { type: "slice", of, from, to });
}

function parseTerm(scan: Scan): Node {
  const token = next(scan);
  switch (token.type) {
    case "number":
      return counted(scan, { type: "literal", value: Number(token.text) });
    case "text":
      return counted(scan, { type: "literal", value: token.text });
    case "field":
      return counted(scan, fieldOf(identity, token.text));
    case "name":
      return parseName(scan, token);
    default:
      return parseSign(scan, token);
  }
}

function parseSign(scan: Scan, token: Token): Node {
  switch (token.text) {
    case ".":
      if (peek(scan).type === "text") return counted(scan, fieldOf(identity, next(scan).text));
      return identity;
    case "(": {
      const inner = parseLevel(scan, 0);
      expect(scan, ")");
      return inner;
    }
    case "[": {
      const inner = isAt(scan, "]") ? undefined : parseLevel(scan, 0);
      expect(scan, "]");
      return counted(scan, { type: "list", of: inner });
    }
    case "-":
      return counted(scan, { type: "call", name: "_negate", parameters: [parsePostfix(scan)] });
    default:
      throw unexpected(token);
  }
}

function parseName(scan: Scan, token: Token): Node {
  const { text, at } = token;
  if (text === "null") return { type: "literal", value: null };
  if (text === "true" || text === "false") return { type: "literal", value: text === "true" };
  if (text === "if") return parseIf(scan);
  if (reserved.includes(text)) throw unsupported(JSON.stringify(text), at);
  const parameters = take(scan, "(") ? parseParameters(scan) : [];
  const arities = functionArities(text);
  if (!arities) throw new JqError(`calls ${JSON.stringify(text)} at character ${at}, which is not supported`);
  if (!arities.includes(parameters.length)) {
    throw new JqError(
      `calls ${text} at character ${at} with ${parameters.length} parameters, not ${arities.join(" or ")}`,
    );
  }
  return counted(scan, { type: "call", name: text, parameters });
}

function parseParameters(scan: Scan): readonly Node[] {
  const parameters = [parseLevel(scan, 0)];
  while (take(scan, ";")) parameters.push(parseLevel(scan, 0));
  expect(scan, ")");
  return parameters;
}

function parseIf(scan: Scan): Node {
  const condition = parseLevel(scan, 0);
  expect(scan, "then");
  const then = parseLevel(scan, 0);
  if (take(scan, "elif")) return counted(scan, { type: "if", condition, then, otherwise: parseIf(scan) });
  const otherwise = take(scan, "else") ? parseLevel(scan, 0) : identity;
  expect(scan, "end");
  return counted(scan, { type: "if", condition, then, otherwise });
}

function unexpected(token: Token): JqError {
  if (token.type === "end") return new JqError("ends too early");
  const known = ["..", "$", "@", "{", "=", "|=", "//=", "?//"].includes(token.text) || /^[-+*/%]=$/.test(token.text);
  if (known) return unsupported(JSON.stringify(token.text), token.at);
  return new JqError(`has an unexpected ${JSON.stringify(token.text)} at character ${token.at}`);
}
