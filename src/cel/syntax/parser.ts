import { isError, type Value } from "../values/value.ts";
import { type CallNode, copyNode, type FieldEntry, type ListNode, type MapEntry, type Node } from "./ast.ts";
import { Lexer, type Token } from "./lexer.ts";
import { bytesLiteral, numberLiteral, stringLiteral } from "./literals.ts";
import { type Builder, type Macro, macroKey } from "./macro.ts";
import type { Issue } from "./source.ts";
import { fail, ParseFailure, TokenStream } from "./token-stream.ts";

export interface SyntaxLimits {
  /** Code points of a source. */
  readonly maxSize: number;
  /** How deep each rule of the grammar may nest. */
  readonly maxDepth: number;
  /** Nodes of the tree, with those that macros add. */
  readonly maxNodes: number;
}

export const defaultLimits: SyntaxLimits = { maxSize: 100_000, maxDepth: 250, maxNodes: 10_000 };

export interface Parsed {
  readonly node?: Node;
  readonly issues: readonly Issue[];
}

export function parse(source: string, macros: readonly Macro[], limits: SyntaxLimits = defaultLimits): Parsed {
  const size = codePointsUpTo(source, limits.maxSize);
  if (size === undefined) {
    const message = `expression code point size exceeds limit: size: ${source.length}, limit ${limits.maxSize}`;
    return { issues: [{ offset: -1, message }] };
  }
  const lexer = new Lexer(source);
  try {
    const node = new Parser(lexer, macros, limits).parse();
    return lexer.issues.length > 0 ? { issues: lexer.issues } : { node, issues: [] };
  } catch (error) {
    if (error instanceof ParseFailure) return { issues: lexer.issues.length > 0 ? lexer.issues : [error.issue] };
    throw error;
  }
}

/** The length in code points, or undefined if it is over the limit. */
function codePointsUpTo(source: string, limit: number): number | undefined {
  if (source.length > 2 * limit) return undefined;
  const count = source.length <= limit ? source.length : [...source].length;
  return count > limit ? undefined : count;
}

const reserved = new Set(
  "as break const continue else false for function if import in let loop package namespace null return true var void while".split(
    " ",
  ),
);
const literals: ReadonlyMap<string, Value> = new Map<string, Value>([
  ["true", true],
  ["false", false],
  ["null", null],
]);
const relations = new Set(["<", "<=", ">=", ">", "==", "!=", "in"]);
const startOfExpression =
  "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}";

type Rule = "expr" | "relation" | "calc" | "member";

class Parser {
  readonly #tokens: TokenStream;
  readonly #macros = new Map<string, Macro>();
  readonly #limits: SyntaxLimits;
  readonly #depth: Record<Rule, number> = { expr: 0, relation: 0, calc: 0, member: 0 };
  #nodes = 0;

  constructor(lexer: Lexer, macros: readonly Macro[], limits: SyntaxLimits) {
    this.#tokens = new TokenStream(lexer);
    this.#limits = limits;
    for (const macro of macros) this.#macros.set(macroKey(macro.name, macro.argumentCount, macro.isMember), macro);
  }

  parse(): Node {
    const node = this.#expression();
    const rest = this.#tokens.peek();
    if (rest.kind === "end") return node;
    const kind = this.#tokens.peek(1).kind === "end" ? "extraneous" : "mismatched";
    return fail(rest.offset, `Syntax error: ${kind} input '${rest.text}' expecting <EOF>`);
  }

  #expression(): Node {
    if (this.#isLone()) return this.#primary();
    return this.#within("expr", () => {
      const condition = this.#logical("||");
      const question = this.#tokens.accept("?");
      if (!question) return condition;
      const yes = this.#logical("||");
      this.#tokens.expect(":");
      return this.#call(question.offset, "_?_:_", undefined, [condition, yes, this.#expression()]);
    });
  }

  /** Whether a literal or a name is all there is, so that a long list of them need not go through every rule. */
  #isLone(): boolean {
    const { kind } = this.#tokens.peek();
    if (kind === "symbol" || kind === "quoted" || kind === "end") return false;
    const after = this.#tokens.peek(1);
    return after.kind === "symbol" && ",])}:".includes(after.text);
  }

  /** A chain of `||` or `&&` becomes one call with all its terms, so that a long chain is not a deep tree. */
  #logical(operator: "||" | "&&"): Node {
    const next = (): Node => (operator === "||" ? this.#logical("&&") : this.#relation());
    const first = next();
    const terms = [first];
    let offset = -1;
    for (let token = this.#tokens.accept(operator); token; token = this.#tokens.accept(operator)) {
      if (offset < 0) offset = token.offset;
      terms.push(next());
    }
    return offset < 0 ? first : this.#call(offset, `_${operator}_`, undefined, terms);
  }

  #relation(): Node {
    return this.#chain(
      "relation",
      () => this.#additive(),
      (token) => {
        if (!relations.has(token.text) || (token.kind !== "symbol" && token.text !== "in")) return undefined;
        return token.text === "in" ? "@in" : `_${token.text}_`;
      },
    );
  }

  #additive(): Node {
    return this.#chain(
      "calc",
      () => this.#multiplicative(),
      ({ kind, text }) => (kind === "symbol" && (text === "+" || text === "-") ? `_${text}_` : undefined),
    );
  }

  #multiplicative(): Node {
    return this.#chain(
      "calc",
      () => this.#unary(),
      ({ kind, text }) =>
        kind === "symbol" && (text === "*" || text === "/" || text === "%") ? `_${text}_` : undefined,
    );
  }

  #chain(rule: Rule, operand: () => Node, nameOf: (token: Token) => string | undefined): Node {
    let node = operand();
    let links = 0;
    for (let name = nameOf(this.#tokens.peek()); name; name = nameOf(this.#tokens.peek())) {
      this.#enter(rule);
      links++;
      const { offset } = this.#tokens.next();
      node = this.#call(offset, name, undefined, [node, operand()]);
    }
    this.#depth[rule] -= links;
    return node;
  }

  #unary(): Node {
    const { text, kind, offset } = this.#tokens.peek();
    if (kind !== "symbol" || (text !== "!" && text !== "-")) return this.#member();
    const isNegativeLiteral = text === "-" && ["int", "double"].includes(this.#tokens.peek(1).kind);
    if (isNegativeLiteral) return this.#member();
    let count = 0;
    while (this.#tokens.accept(text)) count++;
    const operand = this.#member();
    return count % 2 === 0 ? operand : this.#call(offset, `${text}_`, undefined, [operand]);
  }

  #member(): Node {
    let node = this.#primary();
    let links = 0;
    for (;;) {
      const next = this.#selection(node);
      if (!next) break;
      this.#enter("member");
      links++;
      node = next;
    }
    this.#depth.member -= links;
    return node;
  }

  /** What follows an operand: `.name`, `.?name`, `.name(…)`, `[…]`, `[?…]`. */
  #selection(node: Node): Node | undefined {
    const bracket = this.#tokens.accept("[");
    if (bracket) {
      const isOptional = this.#tokens.accept("?");
      const index = this.#expression();
      this.#tokens.expect("]");
      return this.#call(bracket.offset, isOptional ? "_[?_]" : "_[_]", undefined, [node, index]);
    }
    const dot = this.#tokens.accept(".");
    if (!dot) return undefined;
    if (this.#tokens.accept("?")) {
      const name = this.#fieldName();
      const field = this.#count({ kind: "literal", value: name.text, offset: name.offset } as const);
      return this.#call(dot.offset, "_?._", undefined, [node, field]);
    }
    const name = this.#fieldName();
    const open = name.kind === "identifier" ? this.#tokens.accept("(") : undefined;
    if (open) return this.#call(open.offset, name.text, node, this.#arguments());
    return this.#count({ kind: "select", operand: node, field: name.text, isTest: false, offset: dot.offset });
  }

  #fieldName(): Token {
    const token = this.#tokens.next();
    if (token.kind === "quoted") return { ...token, text: token.text.slice(1, -1) };
    const isName = token.kind === "identifier" && !literals.has(token.text) && token.text !== "in";
    if (isName) return token;
    return fail(token.offset, `Syntax error: mismatched input '${token.text}' expecting IDENTIFIER`);
  }

  #primary(): Node {
    const token = this.#tokens.next();
    switch (token.kind) {
      case "identifier":
        return this.#name(token, "");
      case "int":
      case "uint":
      case "double":
        return this.#literal(token, numberLiteral(token.kind, token.text));
      case "string":
        return this.#literal(token, stringLiteral(token.text));
      case "bytes":
        return this.#literal(token, bytesLiteral(token.text));
      case "symbol":
        return this.#bracketed(token);
      default:
        return this.#unexpected(token);
    }
  }

  #bracketed(token: Token): Node {
    switch (token.text) {
      case "(": {
        const node = this.#expression();
        this.#tokens.expect(")");
        return node;
      }
      case "[":
        return this.#list(token.offset);
      case "{":
        return this.#count({ kind: "map", entries: this.#mapEntries(), offset: token.offset });
      case ".":
        if (this.#tokens.peek().kind === "identifier") return this.#name(this.#tokens.next(), ".");
        break;
      case "-": {
        const number = this.#tokens.next();
        if (number.kind !== "int" && number.kind !== "double") break;
        return this.#literal({ ...number, offset: token.offset }, numberLiteral(number.kind, `-${number.text}`));
      }
    }
    return this.#unexpected(token);
  }

  #name(token: Token, prefix: "" | "."): Node {
    const { text, offset } = token;
    const literal = literals.get(text);
    if (literal !== undefined) return prefix ? this.#unexpected(token) : this.#literal(token, literal);
    if (text === "in") return this.#unexpected(token);
    const typeName = this.#structName(prefix + text);
    if (typeName) {
      const open = this.#tokens.next();
      return this.#count({ kind: "struct", typeName, fields: this.#fields(), offset: open.offset });
    }
    if (reserved.has(text)) return fail(offset, `reserved identifier: ${text}`);
    const open = this.#tokens.accept("(");
    if (open) return this.#call(open.offset, prefix + text, undefined, this.#arguments());
    return this.#count({ kind: "identifier", name: prefix + text, offset });
  }

  /** The name of a struct literal `a.b.C{`, whose tokens it then takes up to the brace. */
  #structName(first: string): string | undefined {
    let ahead = 0;
    while (this.#tokens.peek(ahead).text === "." && this.#tokens.peek(ahead + 1).kind === "identifier") {
      ahead += 2;
      // A longer path is refused anyway.
      if (ahead > 2 * this.#limits.maxDepth) return undefined;
    }
    const open = this.#tokens.peek(ahead);
    if (open.kind !== "symbol" || open.text !== "{") return undefined;
    let name = first;
    for (let at = 0; at < ahead; at++) name += this.#tokens.peek(at).text;
    this.#tokens.skip(ahead);
    return name;
  }

  #arguments(): Node[] {
    const args: Node[] = [];
    if (this.#tokens.accept(")")) return args;
    do args.push(this.#expression());
    while (this.#tokens.accept(","));
    this.#tokens.expect(")");
    return args;
  }

  #list(offset: number): ListNode {
    const elements: Node[] = [];
    const optional = new Set<number>();
    while (!this.#tokens.accept("]")) {
      if (elements.length > 0) {
        this.#tokens.expect(",");
        if (this.#tokens.accept("]")) break;
      }
      if (this.#tokens.accept("?")) optional.add(elements.length);
      elements.push(this.#expression());
    }
    return this.#count({ kind: "list", elements, optional, offset });
  }

  #mapEntries(): MapEntry[] {
    const entries: MapEntry[] = [];
    while (!this.#tokens.accept("}")) {
      if (entries.length > 0) {
        this.#tokens.expect(",");
        if (this.#tokens.accept("}")) break;
      }
      const isOptional = this.#tokens.accept("?") !== undefined;
      const key = this.#expression();
      this.#tokens.expect(":");
      entries.push({ key, value: this.#expression(), isOptional });
    }
    return entries;
  }

  #fields(): FieldEntry[] {
    const fields: FieldEntry[] = [];
    while (!this.#tokens.accept("}")) {
      if (fields.length > 0) {
        this.#tokens.expect(",");
        if (this.#tokens.accept("}")) break;
      }
      const isOptional = this.#tokens.accept("?") !== undefined;
      const field = this.#fieldName().text;
      const { offset } = this.#tokens.expect(":");
      fields.push({ field, offset, value: this.#expression(), isOptional });
    }
    return fields;
  }

  #call(offset: number, name: string, target: Node | undefined, args: readonly Node[]): Node {
    const macro = this.#macros.get(macroKey(name, args.length, target !== undefined));
    const expanded = macro?.expand(this.#builder(offset), target, args);
    if (expanded) return expanded;
    return this.#count<CallNode>({ kind: "call", name, target, arguments: args, offset });
  }

  #builder(offset: number): Builder {
    const call = (name: string, target: Node | undefined, args: readonly Node[]): Node =>
      this.#count({ kind: "call", name, target, arguments: args, offset });
    return {
      offset,
      call: (name, ...args) => call(name, undefined, args),
      memberCall: (name, target, ...args) => call(name, target, args),
      identifier: (name) => this.#count({ kind: "identifier", name, offset }),
      literal: (value) => this.#count({ kind: "literal", value, offset }),
      list: (...elements) => this.#count({ kind: "list", elements, optional: new Set<number>(), offset }),
      copy: (node) => copyNode(node, () => this.#countNode(offset)),
      fail: (at, message) => fail(at.offset, message),
    };
  }

  #literal(token: Token, value: Value): Node {
    if (isError(value)) return fail(token.offset, value.message);
    return this.#count({ kind: "literal", value, offset: token.offset });
  }

  #count<T extends Node>(node: T): T {
    this.#countNode(node.offset);
    return node;
  }

  #countNode(offset: number): void {
    if (++this.#nodes > this.#limits.maxNodes) {
      fail(offset, `expression node limit exceeded: ${this.#limits.maxNodes}`);
    }
  }

  #within(rule: Rule, parse: () => Node): Node {
    this.#enter(rule);
    const node = parse();
    this.#depth[rule]--;
    return node;
  }

  #enter(rule: Rule): void {
    if (++this.#depth[rule] > this.#limits.maxDepth) {
      fail(-1, `expression recursion limit exceeded: ${this.#limits.maxDepth}`);
    }
  }

  #unexpected({ text, kind, offset }: Token): never {
    const next = this.#tokens.peek();
    const isExtra = kind !== "end" && next.kind !== "end" && (next.kind !== "symbol" || "[{(.-!".includes(next.text));
    const how = isExtra ? "extraneous" : "mismatched";
    return fail(offset, `Syntax error: ${how} input '${text}' expecting ${startOfExpression}`);
  }
}
