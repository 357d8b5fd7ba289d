import assert from "node:assert/strict";
import { test } from "node:test";
import { type Chain, runChain, StepError } from "./chain.ts";

interface Asked {
  readonly name: string;
  answer(): string | undefined | Promise<string | undefined>;
}
type Notes = string[];

class Refusal extends Error {}
class NotMine extends Error {}

const chain: Chain<Asked, Notes, string> = {
  what: "plugin",
  ask({ name, answer }, notes) {
    notes.push(name);
    return answer();
  },
  meaning: (error) => (error instanceof Refusal ? "refusal" : error instanceof NotMine ? "next" : "fault"),
};
const answers = (name: string, answer?: string): Asked => ({ name, answer: () => answer });
const throws = (name: string, error: unknown): Asked => ({
  name,
  answer() {
    throw error;
  },
});
const later = ({ name, answer }: Asked): Asked => ({ name, answer: async () => await answer() });

test("runChain() returns the first answer immediately, and asks no step after it", () => {
  const notes: Notes = [];

  assert.equal(runChain(chain, [answers("a"), answers("b", "yes"), answers("c", "no")], notes), "yes");
  assert.deepEqual(notes, ["a", "b"]);
});

test("runChain() runs every step if none of them answers, and creates no promise of its own", () => {
  const notes: Notes = [];

  assert.equal(runChain(chain, [answers("a"), answers("b")], notes), undefined);
  assert.deepEqual(notes, ["a", "b"]);
  assert.equal(runChain(chain, [], notes), undefined);
});

test("runChain() waits for a step before it asks the next", async () => {
  const notes: Notes = [];

  const found = runChain(chain, [later(answers("a")), answers("b"), later(answers("c", "yes")), answers("d")], notes);

  assert.deepEqual(notes, ["a"]);
  assert.equal(await found, "yes");
  assert.deepEqual(notes, ["a", "b", "c"]);
});

for (const { when, of } of [
  { when: "immediately", of: (step: Asked) => step },
  { when: "late", of: later },
]) {
  const run = async (steps: readonly Asked[]) => await runChain(chain, steps, []);

  test(`runChain() rethrows a refusal that comes ${when} unchanged`, async () => {
    const refusal = new Refusal("not today");
    await assert.rejects(run([of(throws("a", refusal)), answers("b", "yes")]), (error) => error === refusal);
  });

  test(`runChain() skips a step whose error, thrown ${when}, does not concern the others`, async () => {
    assert.equal(await run([of(throws("a", new NotMine())), answers("b", "yes")]), "yes");
  });

  test(`runChain() names the step that fails ${when}`, async () => {
    const cause = new TypeError("x is not a function");
    await assert.rejects(run([answers("a"), of(throws("b", cause)), answers("c", "yes")]), (error) => {
      assert(error instanceof StepError);
      assert.equal(error.message, 'running plugin "b": x is not a function');
      assert.equal(error.cause, cause);
      return true;
    });
  });
}

test("a chain without meaning() treats every error as a fault", () => {
  const { meaning: _, ...plain } = chain;
  assert.throws(() => runChain(plain, [throws("a", new Refusal("no"))], []), { message: 'running plugin "a": no' });
});

test("runChain() times the steps that have to wait, whether or not they answer", async () => {
  let nowMs = 0;
  const heard: [string, number][] = [];
  const waits = { now: () => nowMs, waited: (step: string, ms: number) => heard.push([step, ms]) };
  const slow = (step: Asked, ms: number): Asked => ({
    name: step.name,
    async answer() {
      await Promise.resolve();
      nowMs += ms;
      return await step.answer();
    },
  });
  const steps = [answers("a"), slow(answers("b"), 5), slow(throws("c", new NotMine()), 7), answers("d", "yes")];

  assert.equal(await runChain({ ...chain, waits }, steps, []), "yes");
  assert.deepEqual(heard, [
    ["b", 5],
    ["c", 7],
  ]);
});
