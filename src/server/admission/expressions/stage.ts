import { type NamedPart, type Outcome, type Program } from "#cel/compile.ts";
import { describeNames } from "#cel/describe-names.ts";
import { type Variables } from "#cel/run/frame.ts";
import { structType, type Type } from "#cel/types/type.ts";
import { ObjectValue } from "#cel/values/collections.ts";
import { CelError, type Value } from "#cel/values/value.ts";
import { perCallLimit } from "#cel-kubernetes/environment.ts";
import { type Slice } from "#lib/async/turns.ts";
import { type Expression } from "./compile-expression.ts";
import { Suspended } from "./suspended.ts";

/** What an expression gave, or why it gave nothing. */
export type Evaluated =
  | { readonly value: Value; readonly error?: undefined }
  | { readonly value?: undefined; readonly error: string };

/** The expressions of a stage cost more than all of them together may. */
export class OutOfBudget extends Error {
  override readonly name = "OutOfBudget";
  constructor() {
    super("validation failed due to running out of cost budget, no further validation rules will be run");
  }
}

export interface StageOptions {
  /** What the expressions may use, but for `variables`. */
  readonly values: ReadonlyMap<string, Value>;
  readonly variables?: ReadonlyMap<string, Expression>;
  /** What all expressions of the stage may cost together. */
  readonly budget: number;
  readonly slice: Slice;
}

/**
 * Runs expressions one after another on the same values and one budget. A variable is evaluated when it is first used,
 * at most once in a stage. No turn of the event loop takes longer than two expressions may.
 */
export class Stage {
  budget: number;
  /** The same for work that costs do not see. Upstream has no such limit. */
  #work: number;
  readonly #variables: ReadonlyMap<string, Expression>;
  readonly #known = new Map<string, Value>();
  readonly #values: Variables;
  readonly #slice: Slice;

  constructor({ values, variables = new Map(), budget, slice }: StageOptions) {
    this.budget = budget;
    this.#work = budget;
    this.#variables = variables;
    this.#slice = slice;
    const lazy = new LazyVariables(variables, (name) => this.#valueOf(name));
    this.#values = { get: (name) => (name === "variables" ? lazy : values.get(name)) };
  }

  /** Throws `OutOfBudget` if nothing more may be run. */
  async evaluate(expression: Expression): Promise<Evaluated> {
    const { program, source } = expression;
    if (!program) return { error: `compilation error: ${expression.fault}` };
    const outcome = await this.#run(program);
    this.#spend(outcome);
    if (outcome.error === undefined) return { value: outcome.value };
    return { error: `expression '${source}' resulted in error: ${outcome.error}` };
  }

  /** What the names in an expression stand for. Variables that were not needed are not evaluated for it. */
  describe({ program }: Expression): readonly string[] {
    if (!program) return [];
    const isShown = ({ name }: NamedPart) => {
      const [root, variable = ""] = name.split(".", 2);
      return root === "variables" ? this.#known.has(variable) : root !== "authorizer";
    };
    return describeNames(program, this.#values, isShown);
  }

  /** Runs until nothing has to be waited for. Every attempt but the last leaves one more value known. */
  async #run(program: Program): Promise<Outcome> {
    for (;;) {
      if (this.#slice.isOver) await this.#slice.rest();
      try {
        return program.evaluate(this.#values, perCallLimit);
      } catch (error) {
        if (!(error instanceof Suspended)) throw error;
        await error.settle();
      }
    }
  }

  #valueOf(name: string): Value | undefined {
    const known = this.#known.get(name);
    if (known !== undefined) return known;
    const expression = this.#variables.get(name);
    if (!expression) return undefined;
    const { program } = expression;
    if (!program)
      return this.#keep(name, new CelError(`composited variable "${name}" fails to compile: ${expression.fault}`));
    // In a turn that has taken long enough already, the variable gets one of its own.
    if (this.#slice.isOver) throw new Suspended(async () => void this.#take(name, await this.#run(program)));
    return this.#take(name, program.evaluate(this.#values, perCallLimit));
  }

  #take(name: string, outcome: Outcome): Value {
    const known = this.#known.get(name);
    if (known !== undefined) return known;
    this.#spend(outcome);
    if (outcome.error === undefined) return this.#keep(name, outcome.value);
    return this.#keep(name, new CelError(`composited variable "${name}" fails to evaluate: ${outcome.error}`));
  }

  #keep(name: string, value: Value): Value {
    this.#known.set(name, value);
    return value;
  }

  #spend({ cost, work }: Outcome): void {
    this.#work -= work;
    if (cost > this.budget || this.#work < 0) throw new OutOfBudget();
    this.budget -= cost;
  }
}

const variablesType: Type = structType("kubernetes.variables", { field: () => undefined });

class LazyVariables extends ObjectValue {
  readonly type = variablesType;
  readonly #declared: ReadonlyMap<string, unknown>;
  readonly #read: (name: string) => Value | undefined;

  constructor(declared: ReadonlyMap<string, unknown>, read: (name: string) => Value | undefined) {
    super();
    this.#declared = declared;
    this.#read = read;
  }
  get size(): number {
    return this.#declared.size;
  }
  get(name: string): Value | undefined {
    return this.#read(name);
  }
  has(name: string): boolean {
    return this.#declared.has(name);
  }
  equals(other: ObjectValue): boolean {
    return other === this;
  }
}
