import { own } from "../data/own.ts";
import { messageOf } from "../text/message-of.ts";
import { Meter, type Place, TemplateFault } from "./faults.ts";
import type { TemplateFunctions } from "./function.ts";
import { parseTemplate } from "./parse.ts";
import type { Branch, Call, Operand, Pipeline, Statement } from "./tree.ts";
import { isFields, isList, isTrue, keysOf, read, show, typeOf, type Value } from "./values.ts";

/** A template of Go's text/template that is ready to be rendered. */
export interface Template<S> {
  /** Throws a TemplateFault if the data does not fit, or if there is too much to do. */
  render(data: Value, scope: S): string;
}

/** Some milliseconds at most. */
const maxSteps = 20_000;
const maxOutput = 1 << 20;

/** Reads a template, which may call these functions. Throws a TemplateError with the place of the first fault. */
export function compileTemplate<S>(source: string, functions: TemplateFunctions<S>): Template<S> {
  const body = parseTemplate(source, functions as TemplateFunctions);
  return {
    render(data, scope) {
      const rendering = new Rendering(data, scope);
      rendering.run(body, data);
      return rendering.text;
    },
  };
}

interface Variable {
  readonly name: string;
  value: Value;
}

/** How a body ended. */
type Ending = "break" | "continue" | undefined;

class Rendering<S> {
  readonly #scope: S;
  readonly #meter = new Meter(maxSteps);
  readonly #variables: Variable[];
  readonly #written: string[] = [];
  #length = 0;

  constructor(data: Value, scope: S) {
    this.#scope = scope;
    this.#variables = [{ name: "", value: data }];
  }

  get text(): string {
    return this.#written.join("");
  }

  run(body: readonly Statement[], dot: Value): Ending {
    for (const statement of body) {
      this.#meter.spend(1);
      switch (statement.type) {
        case "copy":
          this.#write(statement.text);
          break;
        case "print":
          this.#print(statement.pipeline, dot);
          break;
        case "break":
        case "continue":
          return statement.type;
        default: {
          const outside = this.#variables.length;
          const ending = statement.type === "range" ? this.#loop(statement, dot) : this.#branch(statement, dot);
          this.#variables.length = outside;
          if (ending) return ending;
        }
      }
    }
    return undefined;
  }

  #write(text: string): void {
    this.#length += text.length;
    if (this.#length > maxOutput) throw new TemplateFault(`writes more than ${maxOutput} characters`);
    this.#written.push(text);
  }

  #print(pipeline: Pipeline, dot: Value): void {
    const value = this.#valueOf(pipeline, dot);
    if (pipeline.variables.length > 0) return this.#keep(pipeline, value);
    this.#write(
      at(pipeline, () => {
        this.#meter.read([value]);
        return show(value);
      }),
    );
  }

  #keep({ variables, isAssignment }: Pipeline, ...values: readonly Value[]): void {
    for (const [index, name] of variables.entries()) {
      const value = values[index] ?? null;
      const there = isAssignment ? this.#variables.findLast((one) => one.name === name) : undefined;
      if (there) there.value = value;
      else this.#variables.push({ name, value });
    }
  }

  #branch(statement: Branch, dot: Value): Ending {
    const { pipeline, body, otherwise, type } = statement;
    const value = this.#valueOf(pipeline, dot);
    this.#keep(pipeline, value);
    if (!isTrue(value)) return this.run(otherwise, dot);
    return this.run(body, type === "with" ? value : dot);
  }

  #loop({ pipeline, body, otherwise }: Branch, dot: Value): Ending {
    const entries = at(pipeline, () => entriesOf(this.#valueOf(pipeline, dot)));
    if (entries.length === 0) return this.run(otherwise, dot);
    const outside = this.#variables.length;
    for (const [key, value] of entries) {
      this.#meter.spend(1);
      this.#variables.length = outside;
      if (pipeline.variables.length === 2) this.#keep(pipeline, key, value);
      else this.#keep(pipeline, value);
      if (this.run(body, value) === "break") break;
    }
    return undefined;
  }

  #valueOf({ first, rest }: Pipeline, dot: Value): Value {
    let value = this.#operand(first, dot);
    for (const call of rest) value = this.#call(call, dot, [value]);
    return value;
  }

  #operand(operand: Operand, dot: Value): Value {
    this.#meter.spend(1);
    switch (operand.type) {
      case "literal":
        return operand.value;
      case "dot":
        return dot;
      case "variable":
        return this.#variables.findLast(({ name }) => name === operand.name)?.value ?? null;
      case "pipeline":
        return this.#valueOf(operand.pipeline, dot);
      case "field":
        return at(operand, () => fieldOf(this.#operand(operand.of, dot), operand.name));
      case "call":
        return this.#call(operand.call, dot, []);
    }
  }

  #call(call: Call, dot: Value, piped: readonly Value[]): Value {
    if (call.name === "and" || call.name === "or") return this.#choose(call, dot, piped);
    const values = [...call.parameters.map((parameter) => this.#operand(parameter, dot)), ...piped];
    return at(call, () => {
      this.#meter.read(values);
      return call.function.call(values, this.#meter, this.#scope as never);
    });
  }

  /** The first value that decides, or the last one. Those after it are not looked at. */
  #choose({ name, parameters }: Call, dot: Value, piped: readonly Value[]): Value {
    let value: Value = null;
    for (const parameter of parameters) {
      value = this.#operand(parameter, dot);
      if (isTrue(value) === (name === "or")) return value;
    }
    return piped[0] ?? value;
  }
}

/** Adds the place to what goes wrong. */
function at<T>({ line, column }: Place, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof TemplateFault) || error.message.startsWith("line ")) throw error;
    throw new TemplateFault(`line ${line}, column ${column}: ${messageOf(error)}`, { cause: error });
  }
}

function fieldOf(of: Value, name: string): Value {
  if (of === null) return null;
  if (isFields(of)) return read(own(of, name));
  throw new TemplateFault(`can't evaluate field ${name} in type ${typeOf(of)}`);
}

function entriesOf(value: Value): readonly (readonly [key: Value, value: Value])[] {
  if (value === null) return [];
  if (isList(value)) return value.map((one, index) => [index, read(one)] as const);
  if (isFields(value)) return keysOf(value).map((key) => [key, read(own(value, key))] as const);
  if (typeof value === "number" && Number.isInteger(value)) {
    if (value > maxSteps) throw new TemplateFault("takes too many steps");
    return Array.from({ length: Math.max(0, value) }, (_, index) => [index, index] as const);
  }
  throw new TemplateFault(`range can't iterate over ${show(value)}`);
}
