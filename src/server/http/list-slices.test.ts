import assert from "node:assert/strict";
import { test } from "node:test";
import { type Encoded } from "#api/exchange.ts";
import { inSlices, inTurn } from "./list-slices.ts";

function itemOf(n: number, storedBytes: number): Encoded {
  const object = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: `c-${n}` } };
  const make = (): Uint8Array => Buffer.from(JSON.stringify(object));
  return { object, revision: n, storedBytes, json: make, protobuf: make };
}
const listOf = (count: number, storedBytes: number): Encoded[] =>
  Array.from({ length: count }, (_, n) => itemOf(n, storedBytes));
const namesOf = (slice: readonly Encoded[]): unknown[] => slice.map(({ object }) => object.metadata.name);

const cases = [
  { what: "5,000 small objects", items: listOf(5000, 1000), slices: 20 },
  { what: "twelve large objects", items: listOf(12, 200_000), slices: 6 },
  { what: "a short list", items: listOf(100, 1000), slices: 1 },
  { what: "an empty list", items: [], slices: 1 },
];
for (const { what, items, slices } of cases) {
  test(`inSlices() processes ${what} in ${slices} turns, completely`, async () => {
    let turns = 0;
    const made = await inSlices(items, namesOf, { pass: async () => void turns++ });

    assert.equal(made.length, slices);
    // One before each slice; a list with only one slice is made synchronously.
    assert.equal(turns, slices === 1 ? 0 : slices);
    assert.deepEqual(made.flat(), namesOf(items));
  });
}

test("inSlices() makes smaller slices of items that take longer", async () => {
  const items = listOf(100, 1000);

  const made = await inSlices(items, namesOf, { mostItems: 16 });

  assert.deepEqual(
    made.map(({ length }) => length),
    [16, 16, 16, 16, 16, 16, 4],
  );
});

test("inSlices() lets a short list in small slices pass the long ones", async () => {
  const order: string[] = [];
  const long = inSlices(listOf(5000, 1000), () => order.push("long"));
  const short = inSlices(listOf(40, 1000), () => order.push("short"), { mostItems: 16 });

  await Promise.all([long, short]);

  assert(order.lastIndexOf("short") < order.lastIndexOf("long"), order.join());
});

test("inSlices() makes one long list at a time, and checks for room when its turn comes", async () => {
  const items = listOf(1000, 1000);
  const order: string[] = [];
  const first = inSlices(items, () => order.push("first"));
  const room = Promise.withResolvers<void>();
  let asked = 0;
  const second = inSlices(items, () => order.push("second"), {
    room: () => (asked++ === 0 ? room.promise : undefined),
  });
  const third = inSlices(items, () => order.push("third"));
  await third;
  room.resolve();
  await Promise.all([first, second]);

  // The second waits for room without blocking the third.
  assert.deepEqual(
    order,
    ["first", "third", "second"].flatMap((name) => Array(4).fill(name)),
  );
  assert.equal(asked, 2);
});

test("inSlices() continues with the next list if a caller is gone", async () => {
  const items = listOf(1000, 1000);
  const room = () => {
    throw new Error("the client hung up");
  };

  await assert.rejects(inSlices(items, namesOf, { room }), /hung up/);
  assert.equal((await inSlices(items, namesOf)).length, 4);
});

test("inSlices() lets the owners take turns, and refuses one that has too many lists waiting", async () => {
  const items = listOf(300, 1000);
  const order: string[] = [];
  const ask = (owner: string) =>
    inSlices(items, () => undefined, { owner }).then(
      () => order.push(owner),
      (error: Error) => order.push(error.message),
    );
  const hostile = Array.from({ length: 150 }, () => ask("hostile"));
  await ask("other");
  const before = order.filter((owner) => owner === "hostile").length;
  await Promise.all(hostile);

  assert.ok(before <= 3, `${before} lists came first`);
  assert.equal(order.filter((owner) => owner === "hostile").length, 101);
  assert.equal(order.filter((text) => text.startsWith("too many long lists")).length, 49);
});

test("inTurn() does nothing before the caller has room, and lets others go ahead", async () => {
  const order: string[] = [];
  const room = Promise.withResolvers<void>();
  let isFull = true;
  const waiting = inTurn(async () => order.push("full"), { room: () => (isFull ? room.promise : undefined) });
  await inTurn(async () => order.push("other"), {});
  isFull = false;
  room.resolve();
  await waiting;

  assert.deepEqual(order, ["other", "full"]);
});
