import { dynType } from "#cel/types/type.ts";
import { ListValue, MapValue, ObjectValue } from "#cel/values/collections.ts";
import { DataObject, valueFor } from "#cel/values/data.ts";
import { renderDuration } from "#cel/values/duration.ts";
import { renderTimestamp } from "#cel/values/timestamp.ts";
import { typeOf } from "#cel/values/type-of.ts";
import { Double, Duration, Timestamp, Uint, type Value } from "#cel/values/value.ts";
import { setOwn } from "#lib/data/json-object.ts";
import { WrittenObject } from "./patch-types.ts";

/** What an expression wrote cannot be used as data. */
export class WrittenDataError extends Error {
  override readonly name = "WrittenDataError";
}

/** About the size of the largest request. A value may share its parts, so it can be far larger than its memory. */
const maxCharacters = 3 * 1024 * 1024;
/** A bound for the number of values, too. */
const charactersPerValue = 8;
const maxDepth = 256;
const maxFaults = 10;

/**
 * A value as JSON data. Each object in it must have the type of its place: `Object.spec.template` is what is written to
 * the field `template` of an `Object.spec`.
 */
export function writtenData(value: Value): unknown {
  const writer = new Writer();
  const data = writer.write(value, value instanceof WrittenObject ? value.type.name : "", 0);
  if (writer.mismatches.length > 0) throw new WrittenDataError(`type mismatch: ${writer.mismatches.join("\n")}`);
  return data;
}

class Writer {
  readonly mismatches: string[] = [];
  #rest = maxCharacters;

  write(value: Value, path: string, depth: number): unknown {
    this.#spend(typeof value === "string" ? value.length : 0);
    if (value === null || typeof value === "string" || typeof value === "boolean") return value;
    if (typeof value === "number" || typeof value === "bigint") return Number(value);
    if (value instanceof Uint) return Number(value.value);
    if (value instanceof Double) return numberOf(value);
    if (depth >= maxDepth) throw new WrittenDataError("value is nested too deeply");
    if (value instanceof ListValue) return this.#list(value, path, depth + 1);
    if (value instanceof MapValue) return this.#map(value, path, depth + 1);
    if (value instanceof ObjectValue) return this.#object(value, path, depth + 1);
    return this.#text(value);
  }

  #list(list: ListValue, path: string, depth: number): unknown[] {
    const items: unknown[] = [];
    for (const item of list) items.push(this.write(item, path, depth));
    return items;
  }

  #map(map: MapValue, path: string, depth: number): object {
    const data = {};
    for (const { key, value } of map.entries()) {
      if (typeof key !== "string") throw new WrittenDataError(`map key is of type ${typeOf(key).name}, not string`);
      this.#spend(key.length);
      setOwn(data, key, this.write(value, path, depth));
    }
    return data;
  }

  #object(object: ObjectValue, path: string, depth: number): unknown {
    if (object instanceof DataObject) return this.write(valueFor(dynType, object.data), path, depth);
    if (!(object instanceof WrittenObject)) throw unusable(object);
    const { name } = object.type;
    if (name !== path && path !== "" && this.mismatches.length < maxFaults) {
      const expected = `expected ${JSON.stringify(path)}, which matches field name path from root Object type`;
      this.mismatches.push(`unexpected type name ${JSON.stringify(name)}, ${expected}`);
    }
    const data = {};
    for (const [field, value] of object.fields)
      setOwn(data, field, this.write(value, path && `${path}.${field}`, depth));
    return data;
  }

  #text(value: Value): string {
    if (value instanceof Uint8Array) {
      this.#spend(2 * value.length);
      return Buffer.from(value).toString("base64");
    }
    if (value instanceof Timestamp) return renderTimestamp(value);
    if (value instanceof Duration) return renderDuration(value);
    throw unusable(value);
  }

  #spend(characters: number): void {
    this.#rest -= characters + charactersPerValue;
    if (this.#rest < 0) throw new WrittenDataError(`value is larger than ${maxCharacters} characters`);
  }
}

function numberOf({ value }: Double): number {
  if (Number.isFinite(value)) return value;
  throw new WrittenDataError(`number ${value} cannot be written as JSON`);
}

const unusable = (value: Value): WrittenDataError =>
  new WrittenDataError(`a value of type ${typeOf(value).name} cannot be written as JSON`);
