import assert from "node:assert/strict";
import { test } from "node:test";
import { planUsed, type UsageFacts } from "./plan-used.ts";

const facts: UsageFacts = { hard: { pods: "10" }, used: {}, counted: {}, released: {}, isQuiet: false };

const cases: { name: string; facts: Partial<UsageFacts>; used: Record<string, string> }[] = [
  { name: "a new limit shows what is counted", facts: { counted: { pods: "3" } }, used: { pods: "3" } },
  {
    name: "charges of writes under way stay",
    facts: { used: { pods: "5" }, counted: { pods: "3" } },
    used: { pods: "5" },
  },
  {
    name: "what was released is given back although writes are under way",
    facts: { used: { pods: "5" }, counted: { pods: "2" }, released: { pods: "1" } },
    used: { pods: "4" },
  },
  {
    name: "what nobody charged is added at once",
    facts: { used: { pods: "2" }, counted: { pods: "3" }, released: { pods: "1" } },
    used: { pods: "3" },
  },
  {
    name: "charges of writes that cannot happen any more are given back",
    facts: { used: { pods: "5" }, counted: { pods: "3" }, isQuiet: true },
    used: { pods: "3" },
  },
  {
    name: "a limit that was removed is not shown",
    facts: { used: { pods: "5", secrets: "1" }, counted: { pods: "5" } },
    used: { pods: "5" },
  },
  {
    name: "a limit of a kind that does not exist keeps what it showed",
    facts: { hard: { "count/a.b": "1", "count/c.d": "1" }, used: { "count/a.b": "1" }, isQuiet: true },
    used: { "count/a.b": "1" },
  },
  {
    name: "amounts keep their form",
    facts: {
      hard: { memory: "4Gi" },
      used: { memory: "3Gi" },
      counted: { memory: "1Gi" },
      released: { memory: "1Gi" },
    },
    used: { memory: "2Gi" },
  },
];

for (const { name, facts: part, used } of cases) {
  test(`planUsed(): ${name}`, () => assert.deepEqual(planUsed({ ...facts, ...part }), used));
}
