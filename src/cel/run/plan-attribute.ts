import type { CallNode, Node, SelectNode } from "../syntax/ast.ts";
import { unwrapOptional } from "../types/type.ts";
import { ListValue, MapValue, ObjectValue } from "../values/collections.ts";
import { converterFor, DataObject } from "../values/data.ts";
import { isInteger } from "../values/integer.ts";
import { renderValue } from "../values/render.ts";
import { typeOf } from "../values/type-of.ts";
import { CelError, Double, isError, noValue, OptionalValue, Uint, type Value } from "../values/value.ts";
import type { Run } from "./frame.ts";
import type { Plan, Planner } from "./planner.ts";

/** `a.b` and `has(a.b)`. */
export function planSelect(planner: Planner, node: SelectNode): Plan {
  const operand = planner.plan(node.operand);
  if (node.isTest) return planPresence(planner, operand, node);
  const missing = new CelError(`no such key: ${node.field}`);
  const read = declaredField(node) ?? ((value: Value) => fieldOf(value, node.field, missing));
  return attribute(operand, read, fieldIfPresent(node.operand, node.field));
}

/** Reads a field of a declared type without looking for it each time. */
function declaredField({ operand, field }: SelectNode): Qualify | undefined {
  const declared = operand.type?.kind === "struct" ? operand.type.struct?.field(field) : undefined;
  if (!declared) return undefined;
  const convert = converterFor(declared.type);
  const dataName = declared.dataName ?? field;
  const missing = new CelError(`no such key: ${field}`);
  return (value) => {
    if (!(value instanceof DataObject)) return fieldOf(value, field, missing);
    const found = value.read(dataName, convert);
    return found === undefined ? missing : found;
  };
}

/** `a[i]`, `a[?i]` and `a.?b`. */
export function planIndex(planner: Planner, node: CallNode): Plan {
  const [operand, index] = node.arguments.map((argument) => planner.plan(argument));
  if (!operand || !index) throw new Error("an index has two operands");
  const known = index.constant;
  if (known !== undefined) {
    const [of] = node.arguments;
    const present =
      of && typeof known === "string" && of.type && unwrapOptional(of.type).kind === "struct"
        ? fieldIfPresent(of, known)
        : (value: Value): Value | undefined => elementIfPresent(value, known);
    return attribute(operand, (value) => elementOf(value, known), present, node.name !== "_[_]");
  }
  const readIndex = index.bare ?? index.run;
  return attributeByIndex(operand, readIndex, node.name !== "_[_]");
}

/** Units of work to look whether a part is there, and to wrap it. */
const optionalWork = 8;

type Qualify = (value: Value) => Value;
type QualifyIfPresent = (value: Value) => Value | undefined;

/** A step from a value to a part of it. The step costs one unit, and the whole path one more. */
function attribute(operand: Plan, qualify: Qualify, present: QualifyIfPresent, isOptional = false): Plan {
  const base = operand.bare ?? operand.run;
  const bare: Run = (frame) => {
    const value = base(frame);
    if (isError(value)) return value;
    if (isOptional || value instanceof OptionalValue) {
      frame.work(optionalWork);
      const part = partIfPresent(value, present);
      if (part !== noValue) frame.spend(1);
      return part;
    }
    frame.spend(1);
    return qualify(value);
  };
  return whole(bare);
}

function attributeByIndex(operand: Plan, readIndex: Run, isOptional: boolean): Plan {
  const base = operand.bare ?? operand.run;
  const bare: Run = (frame) => {
    const value = base(frame);
    if (isError(value)) return value;
    const index = readIndex(frame);
    if (isError(index)) return index;
    frame.read(index);
    if (isOptional || value instanceof OptionalValue) {
      frame.work(optionalWork);
      const part = partIfPresent(value, (inner) => elementIfPresent(inner, index));
      if (part !== noValue) frame.spend(1);
      return part;
    }
    frame.spend(1);
    return elementOf(value, index);
  };
  return whole(bare);
}

function whole(bare: Run): Plan {
  return {
    bare,
    run: (frame) => {
      frame.spend(1);
      return bare(frame);
    },
  };
}

function partIfPresent(value: Value, present: QualifyIfPresent): Value {
  const inner = value instanceof OptionalValue ? value.value : value;
  if (inner === undefined) return noValue;
  const part = present(inner);
  if (part === undefined) return noValue;
  return isError(part) ? part : new OptionalValue(part);
}

function planPresence({ environment }: Planner, operand: Plan, { operand: of, field }: SelectNode): Plan {
  const base = operand.bare ?? operand.run;
  const cost = environment.presenceTestCosts ? 2 : 1;
  const missing = new CelError(`no such key: ${field}`);
  const declared = declaredPlace(of, field);
  return {
    run: (frame) => {
      const value = base(frame);
      if (isError(value)) return value;
      frame.spend(cost);
      if (declared && value instanceof DataObject && value.type === declared.type)
        return value.holds(declared.dataName);
      const inner = value instanceof OptionalValue ? value.value : value;
      if (inner === undefined) return false;
      if (inner instanceof ObjectValue) return inner.has(field);
      return inner instanceof MapValue ? inner.get(field) !== undefined : missing;
    },
  };
}

function fieldOf(value: Value, field: string, missing: CelError): Value {
  if (value instanceof ObjectValue || value instanceof MapValue)
    return value.get(field) ?? nullOr(value, field, missing);
  return missing;
}

/** A field may be null, which is a value. */
function nullOr(value: ObjectValue | MapValue, field: string, missing: CelError): Value {
  return value.get(field) === null ? null : missing;
}

/** Where the data of an operand has a field, if its type says it. The value of the operand may still have another type. */
function declaredPlace({ type: declared }: Node, field: string) {
  const type = declared && unwrapOptional(declared);
  const found = type?.kind === "struct" ? type.struct?.field(field) : undefined;
  return found && type && { type, dataName: found.dataName ?? field, convert: converterFor(found.type) };
}

function fieldIfPresent(operand: Node, field: string): QualifyIfPresent {
  const declared = declaredPlace(operand, field);
  return (value) => {
    if (declared && value instanceof DataObject && value.type === declared.type)
      return value.read(declared.dataName, declared.convert);
    if (value instanceof ObjectValue) return value.has(field) ? value.get(field) : undefined;
    return value instanceof MapValue ? value.get(field) : new CelError(`no such key: ${field}`);
  };
}

function elementOf(value: Value, index: Value): Value {
  const element = elementIfPresent(value, index);
  if (element !== undefined) return element;
  if (value instanceof ListValue) return new CelError(`index out of bounds: ${renderValue(index)}`);
  return new CelError(`no such key: ${renderValue(index)}`);
}

function elementIfPresent(value: Value, index: Value): Value | undefined {
  if (value instanceof MapValue) return value.get(index);
  if (value instanceof ListValue) {
    const position = positionOf(index);
    if (isError(position)) return position;
    return position >= 0 && position < value.length ? value.at(position) : undefined;
  }
  if (value instanceof ObjectValue && typeof index === "string") return value.has(index) ? value.get(index) : undefined;
  return new CelError("no such overload");
}

function positionOf(index: Value): number | CelError {
  if (isInteger(index)) return Number(index);
  if (index instanceof Uint) return Number(index.value);
  if (index instanceof Double) {
    if (Number.isInteger(index.value)) return index.value;
    return new CelError(`unsupported index value ${renderValue(index)} in list`);
  }
  return new CelError(`unsupported index type '${typeOf(index).name}' in list`);
}
