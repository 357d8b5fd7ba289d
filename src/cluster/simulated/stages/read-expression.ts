import type { ApiObject } from "#api/resource.ts";
import { compile } from "#cel/compile.ts";
import { dynType } from "#cel/types/type.ts";
import { valueFor } from "#cel/values/data.ts";
import { Duration, type Value } from "#cel/values/value.ts";
import { kubernetesEnvironment, perCallLimit } from "#cel-kubernetes/environment.ts";
import { compileJq, JqFault, JqOverBudget, type Json } from "#lib/jq/jq.ts";
import { checked, fields, text } from "../read-fields.ts";
import { StageFault } from "./stage.ts";

/** What an expression says about an object; undefined: nothing. */
export type Expression = (object: ApiObject) => Json | Duration | undefined;

/** The values of a jq expression that are not null. An expression that fails has none, as in kwok. */
export function readJq(source: unknown, where: string): (object: ApiObject) => readonly Json[] {
  const expression = text(source, where);
  const query = located(where, () => compileJq(expression));
  return (object) => {
    try {
      return query.run(object as unknown as Json).filter((value) => value !== null);
    } catch (error) {
      // Nobody knows what it would have said, so the object takes no stage.
      if (error instanceof JqOverBudget) throw new StageFault(`${where} ${error.message}`, { cause: error });
      if (error instanceof JqFault) return [];
      throw error;
    }
  };
}

/** `expressionFrom`, `jq.expression` or `cel.expression`. */
export function readExpression(value: unknown, where: string): Expression {
  const given = fields(value, where, ["expressionFrom", "jq", "cel"]);
  if (Object.keys(given).length !== 1) throw new Error(`${where} needs one of expressionFrom, jq and cel`);
  if (given.cel !== undefined) return readCel(given.cel, `${where}.cel`);
  const source =
    given.jq === undefined ? given.expressionFrom : fields(given.jq, `${where}.jq`, ["expression"]).expression;
  const run = readJq(source, given.jq === undefined ? `${where}.expressionFrom` : `${where}.jq.expression`);
  return (object) => run(object)[0];
}

/** An expression in CEL about `self`. One that fails says nothing. */
export function readCel(value: unknown, where: string): Expression {
  const source = text(fields(value, where, ["expression"]).expression, `${where}.expression`);
  const environment = kubernetesEnvironment().extend({ variables: { self: dynType } });
  const compiled = compile(environment, source);
  if (!compiled.program) throw new Error(`${where}.expression: ${compiled.message}`);
  return (object) => {
    const { value: found } = compiled.program.evaluate(new Map([["self", valueFor(dynType, object)]]), perCallLimit);
    return found === undefined ? undefined : plain(found);
  };
}

function plain(value: Value): Json | Duration | undefined {
  if (typeof value === "bigint") return Number(value);
  if (value === null || ["boolean", "string", "number"].includes(typeof value)) return value as Json;
  return value instanceof Duration ? value : undefined;
}

/** Reads, and puts the place before what is wrong. */
export function located<T>(where: string, work: () => T): T {
  let done: T | undefined;
  checked(where, () => {
    done = work();
  });
  return done as T;
}
