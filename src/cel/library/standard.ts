import {
  type Evaluate,
  type FunctionDeclaration,
  type Library,
  memberOverload,
  overload,
  withCost,
} from "../declare/function.ts";
import { standardMacros } from "../syntax/macros.ts";
import {
  boolType,
  bytesType,
  doubleType,
  durationType,
  dynType,
  intType,
  listType,
  mapType,
  nullType,
  stringType,
  type Type,
  timestampType,
  typeParameter,
  typeType,
  uintType,
} from "../types/type.ts";
import type { ListValue, MapValue } from "../values/collections.ts";
import { toBool, toBytes, toDouble, toDuration, toInt, toText, toTimestamp, toUint } from "../values/convert.ts";
import { unitsIn } from "../values/duration.ts";
import { codePointCount } from "../values/text.ts";
import { localDate, zoneWork } from "../values/timestamp.ts";
import { typeOf } from "../values/type-of.ts";
import { CelError, type Duration, type Integer, type Timestamp, TypeValue, type Value } from "../values/value.ts";
import { decoding, encoding, searching, traversal } from "./costs.ts";
import { operators } from "./operators.ts";

const a = typeParameter("A");
const b = typeParameter("B");

/** An overload for `name(x)` and one for `x.name()`. */
function size(kind: string, type: Type, count: (value: Value) => number) {
  const evaluate: Evaluate = (_, value) => count(value);
  return [
    overload(`size_${kind}`, [type], intType, evaluate),
    memberOverload(`${kind}_size`, [type], intType, evaluate),
  ];
}

const sizes: FunctionDeclaration = {
  name: "size",
  overloads: [
    ...size("bytes", bytesType, (value) => (value as Uint8Array).length),
    ...size("list", listType(a), (value) => (value as ListValue).length),
    ...size("map", mapType(a, b), (value) => (value as MapValue).size),
    ...size("string", stringType, (value) => codePointCount(value as string)),
  ],
};

const texts: readonly FunctionDeclaration[] = [
  onText("contains", "contains_string", searching, (text, part) => text.includes(part)),
  onText("startsWith", "starts_with_string", traversal("argument"), (text, part) => text.startsWith(part)),
  onText("endsWith", "ends_with_string", traversal("argument"), (text, part) => text.endsWith(part)),
];

function onText(
  name: string,
  id: string,
  costs: Parameters<typeof withCost>[0],
  decide: (text: string, part: string) => boolean,
): FunctionDeclaration {
  const evaluate: Evaluate = (_, text, part) => decide(text as string, part as string);
  return { name, overloads: withCost(costs, memberOverload(id, [stringType, stringType], boolType, evaluate)) };
}

const ids = new Map([
  [intType, "int64"],
  [uintType, "uint64"],
  [timestampType, "timestamp"],
  [durationType, "duration"],
]);
const idOf = (type: Type): string => ids.get(type) ?? type.name;

function conversion(
  name: string,
  to: Type,
  from: readonly Type[],
  convert: (value: Value, to: Type) => Value,
): FunctionDeclaration {
  const overloads = from.map((type) => {
    const id = `${idOf(type)}_to_${idOf(to)}`;
    const made = {
      ...overload(id, [type], to, (_, value) => convert(value, to)),
      work: timeIds.has(id) ? timeWork : conversionWork,
    };
    if (id === "string_to_bytes") return { ...made, ...encoding };
    return id === "bytes_to_string" ? { ...made, ...decoding } : made;
  });
  return { name, overloads };
}

const timeIds = new Set(["string_to_timestamp", "string_to_duration", "timestamp_to_string", "duration_to_string"]);
/** Units of work to convert a short value. */
const conversionWork = 15;
/** The same for a time or a duration that is read or written as text. */
const timeWork = 40;

const scalars = [boolType, bytesType, doubleType, intType, stringType, uintType, timestampType, durationType];
const conversions: readonly FunctionDeclaration[] = [
  conversion("int", intType, [intType, doubleType, durationType, stringType, timestampType, uintType], toInt),
  conversion("uint", uintType, [uintType, doubleType, intType, stringType], toUint),
  conversion("double", doubleType, [doubleType, intType, stringType, uintType], toDouble),
  conversion("bool", boolType, [boolType, stringType], toBool),
  conversion("string", stringType, scalars, toText),
  conversion("bytes", bytesType, [bytesType, stringType], toBytes),
  conversion("timestamp", timestampType, [timestampType, intType, stringType], toTimestamp),
  conversion("duration", durationType, [durationType, intType, stringType], toDuration),
  { name: "dyn", overloads: [{ ...overload("to_dyn", [a], dynType, (_, value) => value), work: 12 }] },
  {
    name: "type",
    overloads: [{ ...overload("type", [a], typeType(a), (_, value) => new TypeValue(typeOf(value))), work: 30 }],
  },
];

/** Units of work to find a field of a time. */
const fieldWork = 25;

/** A field of a time, in UTC or in the time zone that is named. */
function timeField(name: string, id: string, read: (date: Date) => number): FunctionDeclaration {
  const evaluate: Evaluate = (meter, time, zone) => {
    meter.work(zone === undefined ? fieldWork : zoneWork(zone as string));
    const date = localDate(time as Timestamp, zone as string | undefined);
    return date instanceof CelError ? date : read(date);
  };
  return {
    name,
    overloads: [
      memberOverload(`timestamp_to_${id}`, [timestampType], intType, evaluate),
      memberOverload(`timestamp_to_${id}_with_tz`, [timestampType, stringType], intType, evaluate),
    ],
  };
}

const dayMs = 86_400_000;
const dayOfYear = (date: Date): number => Math.floor((date.getTime() - startOfYear(date)) / dayMs);

function startOfYear(date: Date): number {
  const start = new Date(0);
  start.setUTCFullYear(date.getUTCFullYear(), 0, 1);
  return start.getTime();
}

const times: readonly FunctionDeclaration[] = [
  timeField("getFullYear", "year", (date) => date.getUTCFullYear()),
  timeField("getMonth", "month", (date) => date.getUTCMonth()),
  timeField("getDayOfYear", "day_of_year", dayOfYear),
  timeField("getDayOfMonth", "day_of_month", (date) => date.getUTCDate() - 1),
  timeField("getDate", "day_of_month_1_based", (date) => date.getUTCDate()),
  timeField("getDayOfWeek", "day_of_week", (date) => date.getUTCDay()),
  timeField("getHours", "hours", (date) => date.getUTCHours()),
  timeField("getMinutes", "minutes", (date) => date.getUTCMinutes()),
  timeField("getSeconds", "seconds", (date) => date.getUTCSeconds()),
  durationField("getHours", "hours", (duration) => unitsIn(duration, "h")),
  durationField("getMinutes", "minutes", (duration) => unitsIn(duration, "m")),
  durationField("getSeconds", "seconds", (duration) => unitsIn(duration, "s")),
  durationField("getMilliseconds", "milliseconds", (duration) => unitsIn(duration, "ms")),
  {
    name: "getMilliseconds",
    overloads: ["timestamp_to_milliseconds", "timestamp_to_milliseconds_with_tz"].map((id, index) =>
      memberOverload(id, index === 0 ? [timestampType] : [timestampType, stringType], intType, (_, time) =>
        Math.floor((time as Timestamp).nanos / 1_000_000),
      ),
    ),
  },
];

function durationField(name: string, id: string, read: (duration: Duration) => Integer): FunctionDeclaration {
  const evaluate: Evaluate = (_, duration) => read(duration as Duration);
  return { name, overloads: [memberOverload(`duration_to_${id}`, [durationType], intType, evaluate)] };
}

/** The language itself, without regular expressions: see patterns.ts. */
export const standardLibrary: Library = {
  functions: [...operators, sizes, ...texts, ...conversions, ...times],
  macros: standardMacros,
  types: [
    ...scalars,
    nullType,
    { ...listType(dynType), name: "list" },
    { ...mapType(dynType, dynType), name: "map" },
    { ...typeType(), name: "type" },
  ],
};
