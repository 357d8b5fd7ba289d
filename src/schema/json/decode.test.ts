import assert from "node:assert/strict";
import { test } from "node:test";
import { defaulted, nullable, optional, required } from "../fields.ts";
import { object, type Schema } from "../schema.ts";
import {
  any,
  boolean,
  bytes,
  duration,
  int32,
  int64,
  intOrString,
  lazy,
  list,
  map,
  microTime,
  quantity,
  string,
  time,
} from "../types.ts";
import { decode } from "./decode.ts";
import { DecodeError, maxMembers, TooManyValues } from "./decode-error.ts";

const Port = object("core/v1.ContainerPort", "", {
  name: optional(1, string(), ""),
  containerPort: required(3, int32({ min: 1, max: 65535 }), ""),
  protocol: defaulted(4, string(), "TCP", ""),
});
const Container = object("core/v1.Container", "", {
  name: required(1, string(), ""),
  ports: optional(6, list(Port), ""),
  limits: optional(8, map(quantity()), ""),
  tty: optional(18, boolean(), ""),
  periodSeconds: defaulted(19, int32({ min: 1 }), 10, ""),
});
const Spec = object(
  "core/v1.PodSpec",
  {
    defaults(spec: { serviceAccountName?: string; deprecated?: string }) {
      spec.deprecated ??= spec.serviceAccountName ?? "none";
    },
  },
  {
    containers: required(2, list(Container), ""),
    terminationGracePeriodSeconds: nullable(4, int64(), ""),
    serviceAccountName: optional(8, string(), ""),
    deprecated: optional(9, string(), ""),
    extra: optional(10, any(), ""),
  },
);
const Pod = object("core/v1.Pod", "", {
  kind: optional(0, string(), ""),
  labels: optional(1, map(string()), ""),
  spec: optional(2, Spec, ""),
  when: nullable(3, time(), ""),
  micro: nullable(4, microTime(), ""),
  wait: nullable(5, duration(), ""),
  data: optional(6, map(bytes()), ""),
  port: nullable(7, intOrString(), ""),
  strategy: defaulted(
    8,
    object("core/v1.Strategy", "", { type: defaulted(1, string(), "Roll", "") }),
    { type: "Roll" },
    "",
  ),
});

const plain = (raw: unknown, schema: Schema = Pod) => decode(schema, raw, { defaults: false }).value;

test("decode() fills defaults, runs hooks, and drops nulls and zero values", () => {
  const raw = {
    kind: "",
    labels: {},
    spec: {
      containers: [{ name: "a", ports: [{ containerPort: 80, name: "" }], tty: false, periodSeconds: 0 }],
      terminationGracePeriodSeconds: 0,
      serviceAccountName: null,
    },
  };

  const { value, unknown, keys } = decode(Pod, raw, { defaults: true });

  assert.deepEqual(value, {
    spec: {
      containers: [{ name: "a", ports: [{ containerPort: 80, protocol: "TCP" }], periodSeconds: 10 }],
      terminationGracePeriodSeconds: 0,
      deprecated: "none",
    },
    strategy: { type: "Roll" },
  });
  assert.deepEqual(unknown, []);
  assert.equal(keys, 12);
});

test("decode() makes a list of its own, with a zero value for each null", () => {
  const raw = Object.freeze(["a", null, "b"]);

  const { value } = decode(list(string()), raw, { defaults: true });

  assert.deepEqual(value, ["a", "", "b"]);
  assert(!Object.isFrozen(value), "the request's own list is not used");
});

test("decode() gives required fields their zero value and adds no defaults unless asked to", () => {
  assert.deepEqual(plain({ spec: {} }), { spec: { containers: [] } });
  assert.deepEqual(plain({ spec: { containers: [{}] } }), { spec: { containers: [{ name: "" }] } });
});

test("decode() drops unknown fields and names them as upstream does", () => {
  const raw = { spec: { containers: [{ name: "a" }, { name: "b", foo: { x: 1 } }], bar: 1 }, toString: 1 };

  const { value, unknown, keys } = decode(Pod, raw, { defaults: false });

  assert.deepEqual(value, { spec: { containers: [{ name: "a" }, { name: "b" }] } });
  assert.deepEqual(unknown, ["spec.containers[1].foo", "spec.bar", "toString"]);
  assert.equal(keys, 8);
});

for (const micro of ["2024-02-28T01:30:00.000001Z", "2024-02-29T23:59:59.999999Z"]) {
  test(`decode() keeps the time ${micro}, which is already canonical`, () => {
    assert.deepEqual(plain({ micro }), { micro });
  });
}

test("decode() normalises times, durations, quantities and bytes", () => {
  const raw = {
    when: "2024-02-29T01:30:00.999+02:00",
    micro: "2024-02-29T01:30:00.5Z",
    wait: "90m",
    data: { a: "aGk=" },
    port: "http",
    spec: { containers: [{ name: "a", limits: { cpu: "0.5", memory: 1024, disk: "1024Mi" } }] },
  };

  assert.deepEqual(plain(raw), {
    when: "2024-02-28T23:30:00Z",
    micro: "2024-02-29T01:30:00.500000Z",
    wait: "1h30m0s",
    data: { a: "aGk=" },
    port: "http",
    spec: { containers: [{ name: "a", limits: { cpu: "500m", memory: "1024", disk: "1Gi" } }] },
  });
});

const faults: [unknown, string][] = [
  [[], "json: cannot unmarshal array into Go value of type v1.Pod"],
  [{ spec: 1 }, "json: cannot unmarshal number into Go struct field Pod.spec of type v1.PodSpec"],
  [
    { spec: { terminationGracePeriodSeconds: "x" } },
    "json: cannot unmarshal string into Go struct field PodSpec.spec.terminationGracePeriodSeconds of type int64",
  ],
  [
    { spec: { containers: [{ ports: [{ containerPort: 1.5 }] }] } },
    "json: cannot unmarshal number 1.5 into Go struct field ContainerPort.spec.containers.ports.containerPort of type int32",
  ],
  [
    { spec: { containers: {} } },
    "json: cannot unmarshal object into Go struct field PodSpec.spec.containers of type []v1.Container",
  ],
  [{ labels: { a: 1 } }, "json: cannot unmarshal number into Go struct field Pod.labels of type string"],
  [{ labels: [] }, "json: cannot unmarshal array into Go struct field Pod.labels of type map[string]string"],
  [{ port: 2 ** 31 }, "json: cannot unmarshal number 2147483648 into Go struct field Pod.port of type int32"],
  [{ when: 5 }, "json: cannot unmarshal number into Go struct field Pod.when of type string"],
  [{ when: "soon" }, 'parsing time "soon" as "2006-01-02T15:04:05Z07:00": cannot parse "soon" as "2006"'],
  [{ when: "2023-02-29T00:00:00Z" }, 'parsing time "2023-02-29T00:00:00Z": day out of range'],
  [{ micro: "2023-02-29T00:00:00.000000Z" }, 'parsing time "2023-02-29T00:00:00.000000Z": day out of range'],
  [{ wait: "1 hour" }, 'time: unknown unit " hour" in duration "1 hour"'],
  [{ data: { a: "a!" } }, "illegal base64 data at input byte 1"],
  [
    { spec: { containers: [{ limits: { cpu: "1x" } }] } },
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
  ],
  [{ spec: { containers: [{ limits: { cpu: "1KM" } }] } }, "unable to parse quantity's suffix"],
];
for (const [raw, message] of faults) {
  test(`decode() refuses ${JSON.stringify(raw)} in Go's words`, () => {
    assert.throws(
      () => plain(raw),
      (error) => error instanceof DecodeError && error.message === message,
    );
  });
}

test("decode() treats __proto__ as a key like any other", () => {
  const raw = JSON.parse('{"labels":{"__proto__":"x","a":"b"},"__proto__":{"kind":"Evil"}}');

  const { value, unknown } = decode(Pod, raw, { defaults: false });

  assert.equal(JSON.stringify(value), '{"labels":{"__proto__":"x","a":"b"}}');
  assert.equal(Object.getPrototypeOf(value), Object.prototype);
  assert.deepEqual(unknown, ["__proto__"]);
});

test("decode() refuses nesting that would overflow the stack", () => {
  interface Tree {
    child?: Tree;
  }
  const Tree: Schema<Tree> = object("x/v1.Tree", "", {
    child: nullable(
      1,
      lazy(() => Tree),
      "",
    ),
  });
  let deep: Record<string, unknown> = {};
  for (let level = 0; level < 100_000; level++) deep = { child: deep };

  assert.throws(() => plain(deep, Tree), DecodeError);
  assert.throws(() => plain({ spec: { extra: deep } }), DecodeError);
});

test("decode() refuses lists and maps of too many members", () => {
  const ports = (length: number) => ({ ports: Array.from({ length }, () => ({ containerPort: 1 })) });
  const labels = (length: number) => ({
    labels: Object.fromEntries(Array.from({ length }, (_, at) => [`k${at}`, ""])),
  });

  assert.equal((plain(ports(maxMembers), Container) as { ports: unknown[] }).ports.length, maxMembers);
  assert.equal(Object.keys((plain(labels(maxMembers)) as { labels: object }).labels).length, maxMembers);
  assert.throws(() => plain(ports(maxMembers + 1), Container), TooManyValues);
  assert.throws(() => plain(labels(maxMembers + 1)), TooManyValues);
});
