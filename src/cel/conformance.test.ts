import assert from "node:assert/strict";
import { test } from "node:test";
import { tests } from "@bufbuild/cel-spec/testdata/conformance.js";
import { compile, compileUnchecked } from "./compile.ts";
import { Environment } from "./declare/environment.ts";
import { type FunctionDeclaration, overload } from "./declare/function.ts";
import { encoderLibrary } from "./library/encoders.ts";
import { specifiedClauses } from "./library/format.ts";
import { mathLibrary } from "./library/math.ts";
import { bindingLibrary, optionalLibrary } from "./library/optionals.ts";
import { patternLibrary } from "./library/patterns.ts";
import { standardLibrary } from "./library/standard.ts";
import { createStringLibrary } from "./library/strings.ts";
import { twoVariableLibrary } from "./library/two-variables.ts";
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
  opaqueType,
  renderType,
  stringType,
  type Type,
  timestampType,
  typeParameter,
  typeType,
  uintType,
} from "./types/type.ts";
import { ArrayList, EntryMap, keyOf } from "./values/collections.ts";
import { equals } from "./values/compare.ts";
import { parseDuration } from "./values/duration.ts";
import { normalize } from "./values/integer.ts";
import { parseTimestamp } from "./values/timestamp.ts";
import { Double, noSuchOverload, TypeValue, Uint, type Value } from "./values/value.ts";

/** The cases of the specification, as its test data writes protobuf in JSON. */
interface Case {
  readonly name: string;
  readonly expr: string;
  readonly container?: string;
  readonly disableCheck?: boolean;
  readonly checkOnly?: boolean;
  readonly value?: Data;
  readonly evalError?: unknown;
  readonly typedResult?: { readonly result?: Data; readonly deducedType?: Data };
  readonly typeEnv?: readonly {
    readonly name: string;
    readonly ident?: { readonly type: Data };
    readonly function?: Data;
  }[];
  readonly bindings?: Readonly<Record<string, { readonly value: Data }>>;
}
type Data = Readonly<Record<string, never>>;
interface Suite {
  readonly name: string;
  readonly suites?: readonly Suite[];
  readonly tests?: readonly { readonly original: Case }[];
}

function* casesOf(suite: Suite, path: string): Iterable<{ readonly path: string; readonly item: Case }> {
  for (const { original } of suite.tests ?? []) yield { path: `${path}/${original.name}`, item: original };
  for (const inner of suite.suites ?? []) yield* casesOf(inner, path === "" ? inner.name : `${path}/${inner.name}`);
}

const messages =
  /TestAllTypes|NestedTestAllTypes|GlobalEnum|NestedEnum|TestRequired|google\.protobuf\.(?!Timestamp\b|Duration\b)|google\.protobuf\.\w+\{|proto\.(has|get)Ext|objectValue|enumValue|messageType|functionType|NullValue|Value\{|wrapper/;
/** Why a case is left out. None of these exists in Kubernetes. */
const leftOut: readonly { readonly reason: string; readonly matches: (path: string, item: Case) => boolean }[] = [
  { reason: "cel.block, which only optimizers write", matches: (path) => path.startsWith("block_ext/") },
  {
    reason: "an offset behind the end, which cel-go answers with -1",
    matches: (path) => /dexof_out_of_range$/.test(path),
  },
  { reason: "protobuf enums", matches: (path) => path.startsWith("enums/") },
  { reason: "protobuf messages and their wrappers", matches: (_, item) => messages.test(JSON.stringify(item)) },
];

const environment = new Environment({
  libraries: [
    standardLibrary,
    patternLibrary,
    optionalLibrary,
    bindingLibrary,
    createStringLibrary(specifiedClauses),
    mathLibrary,
    encoderLibrary,
    twoVariableLibrary,
  ],
});

const kinds: Readonly<Record<string, Type>> = {
  BOOL: boolType,
  INT64: intType,
  UINT64: uintType,
  DOUBLE: doubleType,
  STRING: stringType,
  BYTES: bytesType,
  TIMESTAMP: timestampType,
  DURATION: durationType,
};

function typeFrom(data: Data): Type {
  const [[kind, content] = ["", undefined]] = Object.entries(data) as [string, Data & string][];
  switch (kind) {
    case "primitive":
    case "wellKnown":
      return kinds[content as string] ?? dynType;
    case "listType":
      return listType(content?.elemType ? typeFrom(content.elemType) : dynType);
    case "mapType":
      return mapType(typeFrom(content?.keyType ?? {}), typeFrom(content?.valueType ?? {}));
    case "null":
      return nullType;
    case "type":
      return typeType(Object.keys(content ?? {}).length > 0 ? typeFrom(content as Data) : undefined);
    case "typeParam":
      return typeParameter(content as string);
    case "abstractType":
      return opaqueType(content?.name ?? "", ...((content?.parameterTypes ?? []) as Data[]).map(typeFrom));
    default:
      return dynType;
  }
}

function valueFrom(data: Data): Value {
  const [[kind, content] = ["", undefined]] = Object.entries(data) as [string, Data & string][];
  switch (kind) {
    case "int64Value":
      return normalize(BigInt(content as string));
    case "uint64Value":
      return new Uint(normalize(BigInt(content as string)));
    case "doubleValue":
      return new Double(Number(content));
    case "bytesValue":
      return Buffer.from(content as string, "base64");
    case "listValue":
      return new ArrayList(((content?.values ?? []) as Data[]).map(valueFrom));
    case "mapValue": {
      const entries = ((content?.entries ?? []) as { key: Data; value: Data }[]).map(({ key, value }) => ({
        key: valueFrom(key),
        value: valueFrom(value),
      }));
      return new EntryMap(new Map(entries.map((entry) => [keyOf(entry.key) ?? "", entry])));
    }
    case "nullValue":
      return null;
    case "typeValue":
      return new TypeValue(environment.type(content as string) ?? opaqueType(content as string));
    default:
      return content as Value;
  }
}

/** Times stand in their protobuf messages. */
function timeFrom(data: Data): Value | undefined {
  const { objectValue: object } = data as { objectValue?: { "@type": string; value: string } };
  if (object?.["@type"].endsWith("Timestamp")) return parseTimestamp(object.value);
  return object?.["@type"].endsWith("Duration") ? parseDuration(object.value) : undefined;
}

/** A result that is a time is a message only in the test data. */
const withoutTime = (item: Case): Case =>
  item.value && timeFrom(item.value) !== undefined ? { ...item, value: {} } : item;

/** A function that a case declares without saying what it does. */
function declarationFrom(name: string, data: Data): FunctionDeclaration {
  const overloads = (data.overloads ?? []) as { overloadId: string; params?: Data[]; resultType: Data }[];
  return {
    name,
    overloads: overloads.map(({ overloadId, params = [], resultType }) =>
      overload(overloadId, params.map(typeFrom), typeFrom(resultType), () => noSuchOverload),
    ),
  };
}

function environmentFor({ typeEnv = [], container = "" }: Case): Environment {
  const functions = typeEnv.flatMap(({ name, function: data }) => (data ? [declarationFrom(name, data)] : []));
  const variables = Object.fromEntries(
    typeEnv.flatMap(({ name, ident }) => (ident ? [[name, typeFrom(ident.type)]] : [])),
  );
  return environment.extend({ variables, container, libraries: [{ functions }] });
}

/** What is wrong with the answer to a case. */
function judge(item: Case): string | undefined {
  const own = environmentFor(item);
  const compiled = item.disableCheck ? compileUnchecked(own, item.expr, dynType) : compile(own, item.expr);
  if (!compiled.program) return item.evalError ? undefined : compiled.message;
  const deduced = item.typedResult?.deducedType;
  if (deduced && renderType(compiled.program.type) !== renderType(typeFrom(deduced))) {
    return `has type ${renderType(compiled.program.type)}, not ${renderType(typeFrom(deduced))}`;
  }
  if (item.checkOnly) return undefined;
  const bindings = new Map(Object.entries(item.bindings ?? {}).map(([name, { value }]) => [name, valueFrom(value)]));
  const { value, error } = compiled.program.evaluate(bindings, 1_000_000);
  if (item.evalError) return error === undefined ? "should be an error" : undefined;
  if (value === undefined) return error;
  const data = item.value ?? item.typedResult?.result ?? { boolValue: true };
  const expected = timeFrom(data as Data) ?? valueFrom(data as Data);
  const bothNaN =
    value instanceof Double && expected instanceof Double && Number.isNaN(value.value) && Number.isNaN(expected.value);
  return bothNaN || equals({ work: () => undefined, read: () => undefined }, value, expected)
    ? undefined
    : `is ${JSON.stringify(value, (_, v) => (typeof v === "bigint" ? String(v) : v))}`;
}

test("the cases of the specification that need no protobuf hold", () => {
  const counts = new Map<string, number>();
  const wrong: string[] = [];
  let checked = 0;
  for (const { path, item } of casesOf(tests as unknown as Suite, "")) {
    const excuse = leftOut.find(({ matches }) => matches(path, withoutTime(item)));
    if (excuse) {
      counts.set(excuse.reason, (counts.get(excuse.reason) ?? 0) + 1);
      continue;
    }
    checked++;
    const fault = judge(item);
    if (fault) wrong.push(`${path}: ${item.expr}\n  ${fault}`);
  }
  assert.deepEqual(wrong, []);
  assert.deepEqual(
    { checked, leftOut: Object.fromEntries(counts) },
    {
      checked: 1623,
      leftOut: {
        "an offset behind the end, which cel-go answers with -1": 2,
        "cel.block, which only optimizers write": 37,
        "protobuf enums": 85,
        "protobuf messages and their wrappers": 597,
      },
    },
  );
});
