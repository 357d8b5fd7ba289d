const endOfInput = "unexpected end of JSON input";

/** What is wrong with text that is not JSON, in Go's words. */
export function explainSyntax(text: string): string {
  return new Scanner(text).run();
}

/** The part of the grammar that may come next. */
type Expect = "value" | "firstItem" | "firstKey" | "key" | "colon" | "afterValue";

/** Follows the grammar, without recursion, up to the first unexpected character. */
class Scanner {
  readonly #text: string;
  /** Closing brackets that are still expected, innermost last. */
  readonly #owed: ("}" | "]")[] = [];
  #at = 0;
  #expect: Expect = "value";

  constructor(text: string) {
    this.#text = text;
  }

  run(): string {
    for (;;) {
      this.#skipSpace();
      const char = this.#text[this.#at];
      if (char === undefined) return endOfInput;
      const fault = this.#step(char);
      if (fault) return fault;
    }
  }

  #step(char: string): string | undefined {
    switch (this.#expect) {
      case "firstItem":
        return char === "]" ? this.#close() : this.#value(char);
      case "value":
        return this.#value(char);
      case "firstKey":
        return char === "}" ? this.#close() : this.#key(char);
      case "key":
        return this.#key(char);
      case "colon":
        if (char !== ":") return this.#unexpected("after object key");
        return this.#advance("value");
      case "afterValue":
        return this.#afterValue(char);
    }
  }

  #value(char: string): string | undefined {
    if (char === "{") return this.#open("}", "firstKey");
    if (char === "[") return this.#open("]", "firstItem");
    this.#expect = "afterValue";
    if (char === '"') return this.#string();
    if (char === "-" || isDigit(char.charCodeAt(0))) return this.#number();
    if (char === "t") return this.#literal("true");
    if (char === "f") return this.#literal("false");
    if (char === "n") return this.#literal("null");
    return this.#unexpected("looking for beginning of value");
  }

  #key(char: string): string | undefined {
    this.#expect = "colon";
    return char === '"' ? this.#string() : this.#unexpected("looking for beginning of object key string");
  }

  #afterValue(char: string): string | undefined {
    const owed = this.#owed.at(-1);
    if (!owed) return this.#unexpected("after top-level value");
    if (char === owed) return this.#close();
    if (char === ",") return this.#advance(owed === "}" ? "key" : "value");
    return this.#unexpected(owed === "}" ? "after object key:value pair" : "after array element");
  }

  #open(owed: "}" | "]", expect: Expect): undefined {
    this.#owed.push(owed);
    return this.#advance(expect);
  }

  #close(): undefined {
    this.#owed.pop();
    return this.#advance("afterValue");
  }

  #advance(expect: Expect): undefined {
    this.#at++;
    this.#expect = expect;
  }

  #string(): string | undefined {
    for (this.#at++; this.#at < this.#text.length; this.#at++) {
      const code = this.#text.charCodeAt(this.#at);
      if (code < 0x20) return this.#unexpected("in string literal");
      if (code === backslash) {
        const fault = this.#escape();
        if (fault) return fault;
      } else if (code === quote) {
        this.#at++;
        return undefined;
      }
    }
    return endOfInput;
  }

  #escape(): string | undefined {
    const char = this.#text[++this.#at];
    if (char === undefined) return endOfInput;
    if (char !== "u") return '"\\/bfnrt'.includes(char) ? undefined : this.#unexpected("in string escape code");
    for (let digit = 0; digit < 4; digit++) {
      const code = this.#text.charCodeAt(++this.#at);
      if (Number.isNaN(code)) return endOfInput;
      if (!isHexDigit(code)) return this.#unexpected("in \\u hexadecimal character escape");
    }
    return undefined;
  }

  #number(): string | undefined {
    if (this.#text[this.#at] === "-") this.#at++;
    const first = this.#text[this.#at];
    if (first === "0") this.#at++;
    else if (!this.#digits()) return this.#unexpected("in numeric literal");
    if (this.#text[this.#at] === ".") {
      this.#at++;
      if (!this.#digits()) return this.#unexpected("after decimal point in numeric literal");
    }
    if (/[eE]/.test(this.#text[this.#at] ?? "")) {
      this.#at++;
      if (/[-+]/.test(this.#text[this.#at] ?? "")) this.#at++;
      if (!this.#digits()) return this.#unexpected("in exponent of numeric literal");
    }
    return undefined;
  }

  #digits(): boolean {
    const start = this.#at;
    while (isDigit(this.#text.charCodeAt(this.#at))) this.#at++;
    return this.#at > start;
  }

  #literal(word: string): string | undefined {
    for (const letter of word) {
      if (this.#text[this.#at] !== letter) return this.#unexpected(`in literal ${word} (expecting '${letter}')`);
      this.#at++;
    }
    return undefined;
  }

  #skipSpace(): void {
    while (isSpace(this.#text.charCodeAt(this.#at))) this.#at++;
  }

  #unexpected(where: string): string {
    const code = this.#text.codePointAt(this.#at);
    return code === undefined ? endOfInput : `invalid character ${quoted(code)} ${where}`;
  }
}

// By codes, because a body of 3 MiB may consist of a single fault.
const quote = 0x22;
const backslash = 0x5c;
const isSpace = (code: number): boolean => code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39;
const isHexDigit = (code: number): boolean => isDigit(code) || ((code | 0x20) >= 0x61 && (code | 0x20) <= 0x66);

function quoted(code: number): string {
  const char = String.fromCodePoint(code);
  if (char === "'") return "'\\''";
  if (char === '"') return `'"'`;
  return `'${JSON.stringify(char)
    .slice(1, -1)
    .replace(/^\\u00/, "\\x")}'`;
}
