import { compile, type Program } from "#cel/compile.ts";
import { type Environment } from "#cel/declare/environment.ts";
import { dynType, listType, mapType, structType, type Type, type TypeKind } from "#cel/types/type.ts";
import { admissionEnvironment, type Extras } from "./environment.ts";

/** An expression that is ready to run, or what is wrong with it. */
export type Expression =
  | { readonly source: string; readonly program: Program; readonly fault?: undefined }
  | { readonly source: string; readonly program?: undefined; readonly fault: string };

/** What an expression has to give. */
export type Wanted = "bool" | "string" | "string or null" | "object" | "JSON patch" | "anything";
const wantedTypes: Readonly<Record<Exclude<Wanted, "anything">, readonly string[]>> = {
  bool: ["bool"],
  string: ["string"],
  "string or null": ["string", "null_type"],
  object: ["Object"],
  "JSON patch": ["list(JSONPatch)"],
};

export function compileExpression(environment: Environment, source: string, wanted: Wanted): Expression {
  const compiled = compile(environment, source);
  const { program } = compiled;
  if (!program) return { source, fault: `compilation failed: ${compiled.message}` };
  if (wanted === "anything") return { source, program };
  const types = wantedTypes[wanted];
  const type = nameOf(program.type);
  if (types.includes(type)) return { source, program };
  const names = types.length === 1 ? types[0] : `one of [${types.join(" ")}]`;
  return { source, fault: `must evaluate to ${names} but got ${type}` };
}

/** A type under its full name, which is not how compilers show it. */
const nameOf = ({ name, parameters }: Type): string =>
  parameters.length === 0 ? name : `${name}(${parameters.map(nameOf).join(", ")})`;

export interface PolicyCompilerOptions {
  readonly hasParams: boolean;
  readonly hasVariables?: boolean;
  /** What the expressions may use, if not what they may use when they run. */
  readonly environment?: Environment;
}

/**
 * Compiles the expressions of one policy. Each variable can use those before it: they become fields of `variables` one
 * by one.
 */
export class PolicyCompiler {
  readonly variables = new Map<string, Expression>();
  readonly #params: boolean;
  readonly #environment: Environment | undefined;
  readonly #fields = new Map<string, Type>();
  /** What the expressions see besides the usual. */
  readonly #own: Readonly<Record<string, Type>>;

  constructor({ hasParams, hasVariables = true, environment }: PolicyCompilerOptions) {
    this.#params = hasParams;
    this.#environment = environment;
    const field = (name: string) => {
      const type = this.#fields.get(name);
      return type && { type };
    };
    this.#own = hasVariables ? { variables: structType("kubernetes.variables", { field }) } : {};
  }

  addVariable(name: string, source: string): Expression {
    const expression = this.compile(source, "anything");
    this.variables.set(name, expression);
    this.#fields.set(name, expression.program ? fieldType(expression.program.type) : dynType);
    return expression;
  }

  compile(source: string, wanted: Wanted, { authorizer = true, patches = false }: Partial<Extras> = {}): Expression {
    const environment = this.#environment ?? admissionEnvironment({ params: this.#params, authorizer, patches });
    return compileExpression(environment.extend({ variables: this.#own }), source, wanted);
  }
}

const plainKinds: ReadonlySet<TypeKind> = new Set<TypeKind>(
  "null bool int uint double string bytes timestamp duration".split(" ") as TypeKind[],
);

/** As upstream, a variable of any other type is not checked when it is used. */
function fieldType(type: Type): Type {
  if (plainKinds.has(type.kind)) return type;
  const [first, second] = type.parameters;
  if (type.kind === "list" && first) return listType(fieldType(first));
  if (type.kind === "map" && first && second) return mapType(fieldType(first), fieldType(second));
  return dynType;
}
