import assert from "node:assert/strict";
import { test } from "node:test";
import { FlowSchema } from "#api/flowcontrol/flow-schema.ts";
import { PriorityLevelConfiguration } from "#api/flowcontrol/priority-level-configuration.ts";
import { openFaultyApi } from "#testing/faulty-api.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { autoUpdateAnnotation } from "./bootstrap-flows.ts";
import { ensureFlows, planFlowRepair } from "./ensure-flows.ts";

const flow = (annotation: string | undefined, generation: number, spec: object = { shares: 1 }) => ({
  metadata: {
    name: "a",
    generation,
    ...(annotation === undefined ? {} : { annotations: { [autoUpdateAnnotation]: annotation } }),
  },
  spec,
});
const wanted = { shares: 2 };

const cases = [
  { name: "repairs what is ours", current: flow("true", 5), isMandatory: false, revised: ["true", wanted] },
  { name: "leaves alone what is not", current: flow("false", 5), isMandatory: false, revised: undefined },
  {
    name: "repairs what is mandatory in any case",
    current: flow("false", 5),
    isMandatory: true,
    revised: ["true", wanted],
  },
  {
    name: "takes over what nobody has changed",
    current: flow(undefined, 1),
    isMandatory: false,
    revised: ["true", wanted],
  },
  {
    name: "marks what somebody has changed",
    current: flow("maybe", 2),
    isMandatory: false,
    revised: ["false", { shares: 1 }],
  },
  { name: "leaves alone what is right", current: flow("true", 1, wanted), isMandatory: true, revised: undefined },
];
for (const { name, current, isMandatory, revised } of cases) {
  test(`planFlowRepair() ${name}`, () => {
    const plan = planFlowRepair(current, { spec: wanted, isMandatory });

    assert.deepEqual(plan && [plan.metadata.annotations?.[autoUpdateAnnotation], plan.spec], revised);
  });
}

test("ensureFlows() creates the objects once, repairs them, and removes those of earlier versions", async () => {
  await using api = await openFaultyApi(createVirtualClock());
  const { client } = api;
  const ours = { [autoUpdateAnnotation]: "true" };
  const theirs = { [autoUpdateAnnotation]: "false" };
  const spec = { priorityLevelConfiguration: { name: "exempt" } };
  await client.create(FlowSchema, { metadata: { name: "outdated", annotations: ours }, spec });
  await client.create(FlowSchema, { metadata: { name: "of-an-administrator" }, spec });
  await ensureFlows(client);
  const { revision } = api;
  await ensureFlows(client);
  assert.equal(api.revision, revision, "nothing to do");

  const set = async (name: string, matchingPrecedence: number, annotations: Record<string, string>) => {
    const known = await client.get(FlowSchema, { name });
    const metadata = { ...known.metadata, annotations };
    await client.update(FlowSchema, { ...known, metadata, spec: { ...known.spec, matchingPrecedence } });
  };
  await set("probes", 77, ours);
  await set("system-nodes", 78, theirs);
  await client.delete(PriorityLevelConfiguration, { name: "workload-low" });
  await ensureFlows(client);

  const { items } = await client.list(FlowSchema);
  const precedences = Object.fromEntries(items.map(({ metadata, spec }) => [metadata.name, spec.matchingPrecedence]));
  assert.deepEqual(precedences, {
    "catch-all": 10_000,
    exempt: 1,
    "global-default": 9900,
    "kube-controller-manager": 800,
    "kube-scheduler": 800,
    "kube-system-service-accounts": 900,
    "of-an-administrator": 1000,
    probes: 2,
    "service-accounts": 9000,
    "system-leader-election": 100,
    "system-node-high": 400,
    "system-nodes": 78,
  });
  assert.equal((await client.list(PriorityLevelConfiguration)).items.length, 8);
});
