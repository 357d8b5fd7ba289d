import { findPath } from "#api/apiextensions/simple-path.ts";
import { compile, type Program } from "#cel/compile.ts";
import { type Environment } from "#cel/declare/environment.ts";
import { optionalType, type Type } from "#cel/types/type.ts";
import { kubernetesEnvironment } from "#cel-kubernetes/environment.ts";
import { type Declared, declareSchema, type Schema, sizeHints } from "#cel-kubernetes/schema-type.ts";
import { atOnce, type Steps } from "#lib/async/turns.ts";
import { type JsonSchema, type ValidationRule } from "#schema/json-schema.ts";
import { hasRules, partsOf } from "./has-rules.ts";

/** A rule that is ready to run, or what is wrong with it. */
export interface CompiledRule {
  readonly rule: ValidationRule;
  readonly program?: Program;
  readonly fault?: string;
  readonly message?: Program;
  readonly messageFault?: string;
  /** It compares with the previous value, so it is only checked if there is one. */
  readonly usesOldSelf: boolean;
  /** Where its error belongs, below the value: `.name` or `["a key"]`; "" for the value itself. */
  readonly path: string;
}

/** The rules of one schema, and the type of the values that they see. */
export interface CompiledRules {
  readonly declared: Declared;
  readonly rules: readonly CompiledRule[];
}

const known = new WeakMap<JsonSchema, CompiledRules | "no type">();

/** The rules of a schema itself, compiled once. "no type": expressions cannot use such values. */
export const rulesOf = (schema: JsonSchema, isResource: boolean): CompiledRules | "no type" =>
  known.get(schema) ?? atOnce(rulesInSteps(schema, isResource));

/** The same, with a step for each rule: compiling one takes about a millisecond. */
export function* rulesInSteps(schema: JsonSchema, isResource: boolean): Steps<CompiledRules | "no type"> {
  const compiled = known.get(schema);
  if (compiled) return compiled;
  const declared = declareSchema(schema as Schema, "selfType", isResource);
  const rules = declared ? { declared, rules: yield* compileAll(schema, declared) } : "no type";
  known.set(schema, rules);
  return rules;
}

function* compileAll(schema: JsonSchema, declared: Declared): Steps<CompiledRule[]> {
  const environments = new Environments(declared.type);
  const rules: CompiledRule[] = [];
  for (const rule of schema["x-kubernetes-validations"] ?? []) {
    rules.push(compileRule(schema, rule, environments));
    yield;
  }
  return rules;
}

/** Compiles all rules of a schema and of those below it, so that no check has to. */
export function* compileAhead(schema: JsonSchema, isResource: boolean): Steps<void> {
  if (!hasRules(schema)) return;
  if (schema["x-kubernetes-validations"]?.length) yield* rulesInSteps(schema, isResource);
  for (const part of partsOf(schema)) yield* compileAhead(part, part["x-kubernetes-embedded-resource"] === true);
}

/** The variables of a rule: with and without the previous value. */
class Environments {
  readonly withoutOld: Environment;
  readonly #type: Type;
  constructor(type: Type) {
    this.#type = type;
    this.withoutOld = kubernetesEnvironment().extend({ variables: { self: type } });
  }
  withOld({ optionalOldSelf }: ValidationRule): Environment {
    return this.withoutOld.extend({ variables: { oldSelf: optionalOldSelf ? optionalType(this.#type) : this.#type } });
  }
}

function compileRule(schema: JsonSchema, rule: ValidationRule, environments: Environments): CompiledRule {
  const path = pathOf(schema, rule);
  // Without the variable, a rule that uses it does not compile: that tells those rules from the others.
  const alone = compile(environments.withoutOld, rule.rule);
  const usesOldSelf = !alone.program;
  const compiled = alone.program ? alone : compile(environments.withOld(rule), rule.rule);
  const { program } = compiled;
  if (!program) return { rule, path, usesOldSelf: false, fault: `compilation failed: ${compiled.message}` };
  if (program.type.kind !== "bool") {
    return { rule, path, usesOldSelf, fault: "cel expression must evaluate to a bool" };
  }
  return { rule, path, usesOldSelf, program, ...compileMessage(rule, environments) };
}

function compileMessage(
  rule: ValidationRule,
  environments: Environments,
): Pick<CompiledRule, "message" | "messageFault"> {
  if (!rule.messageExpression) return {};
  const compiled = compile(environments.withOld(rule), rule.messageExpression);
  const { program } = compiled;
  if (!program) return { messageFault: `messageExpression compilation failed: ${compiled.message}` };
  if (program.type.kind !== "string") return { messageFault: "messageExpression must evaluate to a string" };
  return { message: program };
}

function pathOf(schema: JsonSchema, { fieldPath }: ValidationRule): string {
  const found = fieldPath ? findPath(schema, fieldPath) : undefined;
  if (!found || "fault" in found) return "";
  return found.steps.map(({ name, isKey }) => (isKey ? `[${name}]` : `.${name}`)).join("");
}

/** How large the values of a schema may be, for estimates of cost. */
export const hintsOf = ({ declared }: CompiledRules): ReturnType<typeof sizeHints> => sizeHints(declared);
