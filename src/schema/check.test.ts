import assert from "node:assert/strict";
import { test } from "node:test";
import { check } from "./check.ts";
import { root } from "./field-error.ts";
import { defaulted, inGo, nullable, optional, required } from "./fields.ts";
import { object } from "./schema.ts";
import { int32, list, map, oneOf, string } from "./types.ts";

const lower = string((value) => (/^[a-z]+$/.test(value) ? undefined : "must be lower case"));
const Port = object("core/v1.Port", "", {
  port: required(1, int32({ min: 1, max: 65535 }), ""),
  protocol: optional(2, oneOf("UDP", "TCP"), ""),
});
const Thing = object("core/v1.Thing", "", {
  name: required(1, lower, ""),
  ports: required(2, list(Port), ""),
  labels: optional(3, map(lower), ""),
  count: optional(4, int32({ min: 0 }), ""),
  status: optional(
    5,
    object("core/v1.ThingStatus", "", { phase: required(1, string(), ""), name: optional(2, lower, "") }),
    "",
  ),
});
const faultsOf = (value: unknown) => check(Thing, value).map(({ path, message }) => `${path}: ${message}`);

test("check() accepts a valid object, and missing values in its status", () => {
  const sound = { name: "a", ports: [{ port: 80, protocol: "TCP" }], labels: { x: "y" }, status: {} };

  assert.deepEqual(faultsOf(sound), []);
});

test("check() reports every fault with its path, in upstream's words", () => {
  const value = {
    name: "",
    ports: [{ port: 1 }, { port: 0, protocol: "SCTP" }],
    labels: { x: "Y" },
    count: -1,
    status: { name: "X" },
  };

  assert.deepEqual(faultsOf(value), [
    "name: Required value",
    "ports[1].port: Invalid value: 0: must be between 1 and 65535, inclusive",
    'ports[1].protocol: Unsupported value: "SCTP": supported values: "TCP", "UDP"',
    'labels[x]: Invalid value: "Y": must be lower case',
    "count: Invalid value: -1: must be greater than or equal to 0",
    'status.name: Invalid value: "X": must be lower case',
  ]);
});

test("check() refuses an empty required list", () => {
  assert.deepEqual(faultsOf({ name: "a", ports: [] }), ["ports: Required value"]);
});

test("check() starts from the path it is given", () => {
  const [fault] = check(Port, { port: 0 }, root.child("spec", "port"));

  assert.equal(fault?.path, "spec.port.port");
});

test("check() reports everything that a rule has against a text", () => {
  const short = Object.assign((value: string) => short.all(value)[0], {
    all: (value: string) => (value.length > 2 ? ["must be short", "must be shorter"] : []),
  });
  const Named = object("core/v1.Named", "", { name: required(1, string(short), "") });

  const faults = check(Named, { name: "abc" }).map(({ message }) => message);

  assert.deepEqual(faults, ['Invalid value: "abc": must be short', 'Invalid value: "abc": must be shorter']);
});

test("check() stops reporting at a number of faults that nobody reads", () => {
  const ports = Array.from({ length: 100_000 }, () => ({ port: 0 }));

  assert.equal(check(Thing, { name: "a", ports }).length, 200);
});

test("check() refuses an empty text where Go has a pointer, and takes it for absent elsewhere", () => {
  const Mode = object("core/v1.Mode", "", {
    plain: optional(1, oneOf("A", "B"), ""),
    pointer: nullable(2, oneOf("B", "A"), ""),
    filled: inGo({ isPointer: true }, defaulted(3, oneOf("A", "B"), "A", "")),
    open: nullable(4, oneOf("", "A"), ""),
  });

  const faults = check(Mode, { plain: "", pointer: "", filled: "", open: "" });

  assert.deepEqual(
    faults.map(({ path, message }) => `${path}: ${message}`),
    ["pointer", "filled"].map((name) => `${name}: Unsupported value: "": supported values: "A", "B"`),
  );
});
