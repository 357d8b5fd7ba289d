import { dynType, elementOf, isDyn, sameType, type Type } from "./type.ts";

/** The largest type that the checker works with. Types that share parts can double with every level. */
export const maxTypeSize = 2000;

/** What the type variables of one expression stand for. A failed attempt is undone by `restore`. */
export class Substitutions {
  readonly #types = new Map<string, Type>();
  readonly #undo: (readonly [string, Type | undefined])[] = [];

  find(variable: Type): Type | undefined {
    return variable.kind === "parameter" ? this.#types.get(variable.name) : undefined;
  }

  set(variable: Type, type: Type): void {
    this.#undo.push([variable.name, this.#types.get(variable.name)]);
    this.#types.set(variable.name, type);
  }

  mark(): number {
    return this.#undo.length;
  }

  restore(mark: number): void {
    while (this.#undo.length > mark) {
      const [name, previous] = this.#undo.pop() ?? [""];
      if (previous) this.#types.set(name, previous);
      else this.#types.delete(name);
    }
  }
}

/** Whether values of these types agree, position by position. Only success changes the substitutions. */
export function assignAll(substitutions: Substitutions, a: readonly Type[], b: readonly Type[]): boolean {
  const mark = substitutions.mark();
  if (a.length === b.length && a.every((type, index) => agree(substitutions, type, b[index] ?? dynType))) return true;
  substitutions.restore(mark);
  return false;
}

export function assign(substitutions: Substitutions, a: Type, b: Type): boolean {
  if (a === b && a.kind !== "parameter") return true;
  const mark = substitutions.mark();
  if (agree(substitutions, a, b)) return true;
  substitutions.restore(mark);
  return false;
}

function agree(substitutions: Substitutions, a: Type, b: Type): boolean {
  if (b.kind === "parameter") {
    const outcome = substituteBy(substitutions, b, a);
    if (outcome !== "free") return outcome === "agrees";
  }
  if (a.kind === "parameter") return substituteBy(substitutions, a, b) === "agrees";
  if (isWild(a) || isWild(b)) return true;
  if (a.kind === "null") return b.kind === "null" || isNullable(b);
  if (b.kind === "null") return isNullable(a);
  if (a.kind !== b.kind) return false;
  if (a.kind === "type") return true;
  return a.name === b.name && agreeAll(substitutions, a.parameters, b.parameters);
}

function agreeAll(substitutions: Substitutions, a: readonly Type[], b: readonly Type[]): boolean {
  return a.length === b.length && a.every((type, index) => agree(substitutions, type, b[index] ?? dynType));
}

const isWild = ({ kind }: Type): boolean => kind === "dyn" || kind === "error";
const nullable = new Set(["opaque", "struct", "duration", "timestamp"]);
const isNullable = (type: Type): boolean => nullable.has(type.kind);

/** Lets a variable stand for a type. "free" means that the variable has no type yet and cannot take this one. */
function substituteBy(substitutions: Substitutions, variable: Type, type: Type): "agrees" | "differs" | "free" {
  if (sameType(variable, type)) return "agrees";
  const known = substitutions.find(variable);
  if (!known) {
    if (occursIn(substitutions, variable, type)) return "free";
    substitutions.set(variable, type);
    return "agrees";
  }
  if (sameType(known, type)) return "agrees";
  if (!agree(substitutions, type, known)) return "differs";
  const general = moreGeneral(type, known);
  if (!occursIn(substitutions, variable, general)) substitutions.set(variable, general);
  return "agrees";
}

function occursIn(substitutions: Substitutions, variable: Type, type: Type): boolean {
  if (sameType(variable, type)) return true;
  if (type.kind === "parameter") {
    const known = substitutions.find(type);
    return known !== undefined && occursIn(substitutions, variable, known);
  }
  return type.parameters.some((parameter) => occursIn(substitutions, variable, parameter));
}

/** Of two types that agree, the one that allows more. */
export function moreGeneral(a: Type, b: Type): Type {
  if (a.kind === "null" && isNullable(b)) return b;
  if (b.kind === "null" && isNullable(a)) return a;
  return isAtLeastAsGeneral(a, b) ? a : b;
}

function isAtLeastAsGeneral(a: Type, b: Type): boolean {
  if (isDyn(a) || a.kind === "parameter") return true;
  if (isDyn(b) || b.kind === "parameter" || a.kind !== b.kind) return false;
  if (a.kind === "type") return true;
  if (a.name !== b.name || a.parameters.length !== b.parameters.length) return false;
  return a.parameters.every((parameter, index) => isAtLeastAsGeneral(parameter, elementOf(b, index)));
}

/** A type with its variables replaced by what they stand for, as far as known. */
export function substitute(substitutions: Substitutions, type: Type): Type {
  return replace(substitutions, type, undefined);
}

/** The same, with `dyn` for what stayed open. */
export function settle(substitutions: Substitutions, type: Type): Type {
  return replace(substitutions, type, dynType);
}

function replace(substitutions: Substitutions, type: Type, open: Type | undefined): Type {
  const known = substitutions.find(type);
  if (known) return replace(substitutions, known, open);
  if (type.kind === "parameter") return open ?? type;
  if (type.parameters.length === 0) return type;
  const parameters = type.parameters.map((parameter) => replace(substitutions, parameter, open));
  if (parameters.every((parameter, index) => parameter === type.parameters[index])) return type;
  const size = parameters.reduce((sum, parameter) => sum + parameter.size, 1);
  return size > maxTypeSize ? dynType : { ...type, parameters, size };
}

/** A type of an overload, with its variables under fresh names. */
export function instantiate(type: Type, fresh: (name: string) => Type): Type {
  if (type.kind === "parameter") return fresh(type.name);
  if (type.parameters.length === 0) return type;
  return { ...type, parameters: type.parameters.map((parameter) => instantiate(parameter, fresh)) };
}
