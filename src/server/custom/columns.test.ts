import assert from "node:assert/strict";
import { test } from "node:test";
import { type ApiObject } from "#api/resource.ts";
import { columnsOf } from "./columns.ts";

const column = (jsonPath: string) => ({ name: jsonPath, type: "string", jsonPath });
const objectWith = (spec: unknown): ApiObject =>
  ({ apiVersion: "example.com/v1", kind: "Thing", metadata: { name: "a" }, spec }) as unknown as ApiObject;

test("columnsOf() shares the room of a row: many columns cannot each show the whole object", () => {
  let written = 0;
  const spec = {
    toJSON() {
      written++;
      return "a".repeat(1000);
    },
  };
  const columns = columnsOf(Array.from({ length: 100 }, () => column(".spec")));
  const room = { chars: 2500, values: 1000 };

  const cells = columns.map((one) => String(one.value(objectWith(spec), 0, room)));

  assert.equal(cells[0], JSON.stringify("a".repeat(1000)));
  assert.match(cells[2] ?? "", /^"a{495}…$/);
  assert.deepEqual(new Set(cells.slice(3)), new Set(["…"]));
  assert.equal(written, 3);
});

test("columnsOf() shows usual texts whole", () => {
  const [first] = columnsOf([column(".spec.hosts")]);

  assert.equal(first?.value(objectWith({ hosts: ["a", "b"] }), 0), '["a","b"]');
});

test("columnsOf() shares the values of a row: many columns cannot each search a large object", () => {
  let reads = 0;
  const list = Array.from({ length: 400 }, () => 1);
  const spec = new Proxy(list, {
    get: (target, name) => {
      reads++;
      return Reflect.get(target, name) as unknown;
    },
  });
  const columns = columnsOf(Array.from({ length: 100 }, () => column(".spec..missing")));
  const room = { chars: 1000, values: 2000 };

  for (const one of columns) one.value(objectWith(spec), 0, room);

  assert(reads < 10_000, `${reads} reads`);
  assert.equal(room.values, 0);
});
