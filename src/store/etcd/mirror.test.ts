import assert from "node:assert/strict";
import { test } from "node:test";
import { nextTurn } from "#lib/async/turns.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { Mirror } from "./mirror.ts";

const value = (text: string) => Buffer.from(text);

/** A mirror of one key at revision 5, and what a watcher of it sees. */
function setUp() {
  const mirror = new Mirror({ clock: createVirtualClock(), isBusy: () => false });
  mirror.fill([{ key: "/a", value: value("0"), revision: 3, created: 2 }], 5);
  const seen: string[] = [];
  const faults: Error[] = [];
  mirror.hub.watch("/", 5, {
    events: (events, revision) => {
      const texts = events.map((event) => `${event.revision}:${event.key}=${event.value && String(event.value)}`);
      seen.push(`${texts.join(" ")} @${revision}`);
    },
    failed: (error) => faults.push(error),
  });
  return { mirror, seen, faults };
}
const put = (revision: number, key = "/a") => ({ key, value: value(`v${revision}`), created: 2, revision });

test("an own write is applied once, from whichever source comes first", async () => {
  const { mirror, seen } = setUp();
  const own = value("v6");
  mirror.answer(6, [{ key: "/a", value: own }]);
  await nextTurn();
  mirror.stream([put(6)], 6);
  mirror.stream([put(7)], 7);
  mirror.answer(7, [{ key: "/a", value: own }]);
  await nextTurn();
  mirror.answer(7, [{ key: "/a", value: own }]);
  await nextTurn();

  assert.deepEqual(seen, ["6:/a=v6 @6", "7:/a=v6 @7"]);
  assert.equal(mirror.history.get("/a")?.value, own, "the bytes that the writer holds");
  assert.equal(mirror.history.get("/a")?.created, 2);
});

test("an own write waits until everything before it is known", async () => {
  const { mirror, seen } = setUp();
  const reached = mirror.reaches(8, 1000);
  mirror.answer(8, [{ key: "/b", value: value("v8") }]);
  mirror.answer(7, [{ key: "/a", value: undefined }]);
  await nextTurn();
  assert.deepEqual(seen, []);

  mirror.stream([put(6)], 6);

  assert.equal(await reached, true);
  assert.deepEqual(seen, ["6:/a=v6 7:/a=undefined 8:/b=v8 @8"]);
  assert.equal(mirror.history.get("/b")?.created, 8);
});

test("revisions of other programs advance the mirror without changes", async () => {
  const { mirror, seen } = setUp();
  mirror.stream([], 9);
  await nextTurn();

  assert.equal(mirror.revision, 9);
  assert.deepEqual(seen, [" @9"]);
  assert.equal(mirror.reaches(9, 0), true);
});

test("a revision that does not come in time is reported so", async () => {
  const clock = createVirtualClock();
  const mirror = new Mirror({ clock, isBusy: () => false });
  const late = mirror.reaches(9, 1000);
  await clock.advance(1000);

  assert.equal(await late, false);
});

test("a replaced state is the new one, without the history in between, and watches fail", async () => {
  const { mirror, faults } = setUp();
  mirror.stream([put(6, "/gone")], 6);
  await nextTurn();

  mirror.replace(
    new Map([["/b", { key: "/b", value: value("v8"), revision: 8, created: 8 }]]),
    9,
    new Error("start over"),
  );
  await nextTurn();

  assert.deepEqual(
    mirror.history.list("").entries.map(({ key }) => key),
    ["/b"],
  );
  assert.equal(mirror.revision, 9);
  assert.equal(mirror.history.compactedRevision, 9);
  assert.deepEqual(
    faults.map(({ message }) => message),
    ["start over"],
  );
});
