import type { Lexer, Token } from "./lexer.ts";
import type { Issue } from "./source.ts";

/** Ends the parse: the first error is the one that helps. */
export class ParseFailure extends Error {
  readonly issue: Issue;
  constructor(offset: number, message: string) {
    super(message);
    this.issue = { offset, message };
  }
}

export function fail(offset: number, message: string): never {
  throw new ParseFailure(offset, message);
}

/** The tokens of a source, and the place that the parser has reached. It reads no further than the parser looks. */
export class TokenStream {
  readonly #lexer: Lexer;
  readonly #tokens: Token[] = [];
  #at = 0;

  constructor(lexer: Lexer) {
    this.#lexer = lexer;
  }

  peek(ahead = 0): Token {
    const wanted = this.#at + ahead;
    while (this.#tokens.length < wanted) this.#tokens.push(this.#lexer.next());
    const known = this.#tokens[wanted];
    if (known) return known;
    const token = this.#lexer.next();
    this.#tokens.push(token);
    return token;
  }

  next(): Token {
    const token = this.peek();
    if (token.kind !== "end") this.#at++;
    return token;
  }

  skip(count: number): void {
    this.#at += count;
  }

  accept(text: string): Token | undefined {
    const token = this.peek();
    return token.kind === "symbol" && token.text === text ? this.next() : undefined;
  }

  expect(text: string): Token {
    const { text: found, offset } = this.peek();
    return this.accept(text) ?? fail(offset, `Syntax error: mismatched input '${found}' expecting '${text}'`);
  }
}
