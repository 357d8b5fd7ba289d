import type { ListNode, MapNode, StructNode } from "../syntax/ast.ts";
import { ArrayList, type Entry, EntryMap, type Key, keyOf } from "../values/collections.ts";
import { renderValue } from "../values/render.ts";
import { CelError, isError, OptionalValue, type Value } from "../values/value.ts";
import type { Frame, Run } from "./frame.ts";
import { constant, type Plan, type Planner } from "./planner.ts";

const listCost = 10;
const mapCost = 30;
const structCost = 40;

export function planList(planner: Planner, node: ListNode): Plan {
  const elements = node.elements.map((element) => planner.plan(element));
  if (node.optional.size === 0 && elements.every((element) => element.constant !== undefined)) {
    return constant(new ArrayList(elements.map(({ constant: value = null }) => value)));
  }
  const runs = elements.map(({ run }) => run);
  if (node.optional.size === 0) return { run: planPlainList(runs) };
  return {
    run: (frame) => {
      const values: Value[] = [];
      for (let index = 0; index < runs.length; index++) {
        const value = optionalElement((runs[index] as Run)(frame), node.optional.has(index));
        if (isError(value)) return value;
        if (value !== undefined) values.push(value);
      }
      frame.spend(listCost);
      return new ArrayList(values);
    },
  };
}

/** A list whose length is known takes no more memory than its elements. */
function planPlainList(runs: readonly Run[]): Run {
  return (frame) => {
    const values = new Array<Value>(runs.length);
    for (let index = 0; index < runs.length; index++) {
      const value = (runs[index] as Run)(frame);
      if (isError(value)) return value;
      values[index] = value;
    }
    frame.spend(listCost);
    return new ArrayList(values);
  };
}

/** The value of an element, or undefined if it is an optional without a value. */
function optionalElement(value: Value, isOptional: boolean): Value | undefined {
  if (!isOptional || isError(value)) return value;
  if (value instanceof OptionalValue) return value.value;
  return new CelError(`cannot initialize optional list element from non-optional value ${renderValue(value)}`);
}

function optionalEntry(key: string, value: Value, isOptional: boolean): Value | undefined {
  if (!isOptional || isError(value) || value instanceof OptionalValue) return optionalElement(value, isOptional);
  return new CelError(`cannot initialize optional entry '${key}' from non-optional value ${renderValue(value)}`);
}

export function planMap(planner: Planner, node: MapNode): Plan {
  const entries = node.entries.map(({ key, value, isOptional }) => ({
    key: planner.plan(key),
    value: planner.plan(value),
    isOptional,
  }));
  const build = (frame: Frame | undefined): Value => {
    const content = new Map<Key, Entry>();
    for (const entry of entries) {
      const error = addEntry(content, read(entry.key, frame), read(entry.value, frame), entry.isOptional);
      if (error) return error;
    }
    frame?.spend(mapCost);
    return new EntryMap(content);
  };
  const isConstant = entries.every(
    ({ key, value, isOptional }) => !isOptional && key.constant !== undefined && value.constant !== undefined,
  );
  return isConstant ? constant(build(undefined)) : { run: build };
}

const read = (plan: Plan, frame: Frame | undefined): Value => (frame ? plan.run(frame) : (plan.constant ?? null));

function addEntry(content: Map<Key, Entry>, key: Value, raw: Value, isOptional: boolean): CelError | undefined {
  if (isError(key)) return key;
  const value = optionalEntry(renderValue(key), raw, isOptional);
  if (isError(value)) return value;
  if (value === undefined) return undefined;
  const plain = keyOf(key);
  if (plain === undefined) return new CelError("unsupported key type");
  if (content.has(plain)) return new CelError(`Failed with repeated key ${renderValue(key)}`);
  content.set(plain, { key, value });
  return undefined;
}

export function planStruct(planner: Planner, node: StructNode): Plan {
  const type = node.type;
  const fields = node.fields.map(({ field, value, isOptional }) => ({
    field,
    run: planner.plan(value).run,
    isOptional,
  }));
  return {
    run: (frame) => {
      const values = new Map<string, Value>();
      for (const { field, run, isOptional } of fields) {
        const value = optionalEntry(field, run(frame), isOptional);
        if (isError(value)) return value;
        if (value !== undefined) values.set(field, value);
      }
      frame.spend(structCost);
      const created = type?.struct?.create?.(values);
      return created === undefined ? new CelError(`unknown type: ${node.typeName}`) : (created as Value);
    },
  };
}
