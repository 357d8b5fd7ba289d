import type { Type } from "../types/type.ts";

/** The variables of the comprehensions around a place. The innermost wins. */
export class Scope {
  readonly #variables = new Map<string, Type[]>();

  find(name: string): Type | undefined {
    return this.#variables.get(name)?.at(-1);
  }

  /** Runs something with variables that exist only inside it. */
  within<T>(variables: readonly (readonly [string, Type])[], run: () => T): T {
    for (const [name, type] of variables) {
      const stack = this.#variables.get(name);
      if (stack) stack.push(type);
      else this.#variables.set(name, [type]);
    }
    const result = run();
    for (const [name] of variables) this.#variables.get(name)?.pop();
    return result;
  }
}
