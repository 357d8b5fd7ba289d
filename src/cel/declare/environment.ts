import type { Macro } from "../syntax/macro.ts";
import { defaultLimits, type SyntaxLimits } from "../syntax/parser.ts";
import { type Type, typeType } from "../types/type.ts";
import { TypeValue, type Value } from "../values/value.ts";
import type { FunctionCost, FunctionDeclaration, Library, LiteralCheck, Overload } from "./function.ts";

export interface EnvironmentOptions {
  readonly libraries?: readonly Library[];
  /** The variables of an expression. */
  readonly variables?: Readonly<Record<string, Type>>;
  /** Object types that an expression can name to write a literal, by their full name. */
  readonly types?: readonly Type[];
  /** Object types that have no end of names. */
  readonly findType?: (name: string) => Type | undefined;
  /** Where names without a qualifier are looked up first. */
  readonly container?: string;
  /** Whether `[1, "a"]` is an error. */
  readonly uniformLiterals?: boolean;
  /** Whether `has()` costs one unit more than its operand. */
  readonly presenceTestCosts?: boolean;
  readonly limits?: SyntaxLimits;
  /** What calls cost, by the name of the function. It wins over what the overload says. */
  readonly costs?: Readonly<Record<string, FunctionCost>>;
}

/** What an expression may use. Extending one is cheap: it keeps what it adds and asks its parent for the rest. */
export class Environment {
  readonly container: string;
  readonly uniformLiterals: boolean;
  readonly presenceTestCosts: boolean;
  readonly limits: SyntaxLimits;
  readonly macros: readonly Macro[];
  readonly literalChecks: readonly LiteralCheck[];
  readonly #parent: Environment | undefined;
  readonly #variables: ReadonlyMap<string, Type>;
  readonly #costs: ReadonlyMap<string, FunctionCost>;
  readonly #types = new Map<string, Type>();
  readonly #findType: ((name: string) => Type | undefined) | undefined;
  readonly #functions = new Map<string, FunctionDeclaration>();

  constructor(options: EnvironmentOptions, parent?: Environment) {
    const libraries = options.libraries ?? [];
    this.#parent = parent;
    this.#findType = options.findType;
    this.container = options.container ?? parent?.container ?? "";
    this.uniformLiterals = options.uniformLiterals ?? parent?.uniformLiterals ?? false;
    this.presenceTestCosts = options.presenceTestCosts ?? parent?.presenceTestCosts ?? true;
    this.#costs = new Map(Object.entries(options.costs ?? {}));
    this.limits = options.limits ?? parent?.limits ?? defaultLimits;
    this.macros = joined(
      parent?.macros,
      libraries.flatMap(({ macros = [] }) => macros),
    );
    this.literalChecks = joined(
      parent?.literalChecks,
      libraries.flatMap(({ literalChecks = [] }) => literalChecks),
    );
    this.#variables = new Map(Object.entries(options.variables ?? {}));
    for (const type of [...libraries.flatMap(({ types = [] }) => types), ...(options.types ?? [])]) {
      this.#types.set(type.name, type);
    }
    for (const { name, overloads } of libraries.flatMap(({ functions = [] }) => functions))
      this.#declare(name, overloads);
  }

  extend(options: EnvironmentOptions): Environment {
    return new Environment(options, this);
  }

  variable(name: string): Type | undefined {
    return this.#variables.get(name) ?? this.#parent?.variable(name);
  }

  type(name: string): Type | undefined {
    return this.#types.get(name) ?? this.#findType?.(name) ?? this.#parent?.type(name);
  }

  function(name: string): FunctionDeclaration | undefined {
    return this.#functions.get(name) ?? this.#parent?.function(name);
  }

  costOf(functionName: string): FunctionCost | undefined {
    return this.#costs.get(functionName) ?? this.#parent?.costOf(functionName);
  }

  /** What a name stands for that is no variable: today always a type. */
  constant(name: string): { readonly value: Value; readonly type: Type } | undefined {
    const type = this.type(name);
    return type && { value: new TypeValue(type), type: typeType(type) };
  }

  /** The full names that a name may mean, in the order in which they are tried. */
  candidates(name: string): readonly string[] {
    if (name.startsWith(".")) return [name.slice(1)];
    const parts = this.container === "" ? [] : this.container.split(".");
    return [...parts.map((_, index) => [...parts.slice(0, parts.length - index), name].join(".")), name];
  }

  #declare(name: string, overloads: readonly Overload[]): void {
    const known = this.function(name)?.overloads ?? [];
    const replaced = new Set(overloads.map(({ id }) => id));
    this.#functions.set(name, { name, overloads: [...known.filter(({ id }) => !replaced.has(id)), ...overloads] });
  }
}

function joined<T>(inherited: readonly T[] | undefined, own: readonly T[]): readonly T[] {
  if (!inherited) return own;
  return own.length === 0 ? inherited : [...inherited, ...own];
}
