import { check } from "./check/checker.ts";
import { checkLiterals } from "./check/literals.ts";
import { checkUniform } from "./check/uniform.ts";
import { estimateCost } from "./cost/estimate-cost.ts";
import type { Environment } from "./declare/environment.ts";
import type { Range, SizeHints } from "./declare/estimate.ts";
import { CostExceeded } from "./declare/meter.ts";
import { Frame, type Run, type Variables } from "./run/frame.ts";
import { planExpression } from "./run/planner.ts";
import { type Node, namesIn, readsField } from "./syntax/ast.ts";
import { parse } from "./syntax/parser.ts";
import { type Issue, renderIssues } from "./syntax/source.ts";
import type { Type } from "./types/type.ts";
import { isError, type Value } from "./values/value.ts";

/** What an evaluation used, also if it failed. `work` is what `cost` does not see. */
interface Used {
  readonly cost: number;
  readonly work: number;
}

/** What became of an evaluation. */
export type Outcome =
  | (Used & { readonly value: Value; readonly error?: undefined })
  | (Used & { readonly value?: undefined; readonly error: string; readonly isOverBudget?: true });

export type Compiled =
  | { readonly program: Program; readonly issues?: undefined }
  | { readonly program?: undefined; readonly issues: readonly Issue[]; readonly message: string };

/** Checks an expression and compiles it. `message` shows all issues, each with its line. */
export function compile(environment: Environment, source: string): Compiled {
  const parsed = parse(source, environment.macros, environment.limits);
  if (!parsed.node) return failure(source, parsed.issues);
  const { type, issues } = check(environment, parsed.node);
  if (issues.length > 0) return failure(source, issues);
  const mixed = environment.uniformLiterals ? checkUniform(parsed.node) : [];
  const wrong = [...checkLiterals(environment, parsed.node), ...mixed];
  if (wrong.length > 0) return failure(source, wrong);
  return { program: new Program(environment, parsed.node, type) };
}

/** Compiles without types: every error shows up when the expression runs. */
export function compileUnchecked(environment: Environment, source: string, dynamic: Type): Compiled {
  const parsed = parse(source, environment.macros, environment.limits);
  return parsed.node ? { program: new Program(environment, parsed.node, dynamic) } : failure(source, parsed.issues);
}

const failure = (source: string, issues: readonly Issue[]): Compiled => ({
  issues,
  message: renderIssues(source, issues),
});

const usedBy = ({ cost, worked }: Frame): Used => ({ cost, work: worked });

const tooDeep = "operation cancelled: value is nested too deeply";

function evaluate(run: Run, variables: Variables, costLimit: number): Outcome {
  const frame = new Frame(variables, costLimit);
  try {
    const value = run(frame);
    return isError(value) ? { error: value.message, ...usedBy(frame) } : { value, ...usedBy(frame) };
  } catch (error) {
    if (error instanceof CostExceeded) return { error: error.message, ...usedBy(frame), isOverBudget: true };
    // Data may be nested as deep as a request allows, which is deeper than a comparison can follow.
    if (error instanceof RangeError) return { error: tooDeep, ...usedBy(frame) };
    throw error;
  }
}

/** A path of names in an expression. */
export interface NamedPart {
  readonly name: string;
  evaluate(variables: Variables, costLimit: number): Outcome;
}

/** An expression that is ready to run, any number of times. */
export class Program {
  /** The type of the result. */
  readonly type: Type;
  readonly #environment: Environment;
  readonly #node: Node;
  readonly #run: Run;

  constructor(environment: Environment, node: Node, type: Type) {
    this.type = type;
    this.#environment = environment;
    this.#node = node;
    this.#run = planExpression(environment, node);
  }

  /** Runs the expression until it ends or has cost more than the limit. It never throws for what an expression does. */
  evaluate(variables: Variables, costLimit: number): Outcome {
    return evaluate(this.#run, variables, costLimit);
  }

  /** The longest paths of names in the expression, such as `object.spec.replicas`, each once. */
  *namedParts(): Iterable<NamedPart> {
    const seen = new Set<string>();
    for (const { name, node } of namesIn(this.#node)) {
      if (seen.has(name)) continue;
      seen.add(name);
      const run = planExpression(this.#environment, node);
      yield { name, evaluate: (variables, costLimit) => evaluate(run, variables, costLimit) };
    }
  }

  /** Whether the expression reads a field of a variable: `claims.email` or `claims.?email`. */
  reads(variable: string, field: string): boolean {
    return readsField(this.#node, variable, field);
  }

  /** What the expression may cost, given how large its data may be. */
  estimateCost(hints?: SizeHints): Range {
    return estimateCost(this.#environment, this.#node, hints);
  }
}
