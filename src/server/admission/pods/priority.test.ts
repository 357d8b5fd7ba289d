import assert from "node:assert/strict";
import { test } from "node:test";
import { PriorityClass } from "#api/scheduling/priority-class.ts";
import { admitPod, podWith, requestFor, setUp } from "../admission.suite.ts";

test("a priority class becomes a number", async () => {
  assert.equal((await admitPod(podWith({ priorityClassName: "system-node-critical" }))).priority, 2_000_001_000);
  await assert.rejects(admitPod(podWith({ priorityClassName: "x" })), {
    message: 'pods "web" is forbidden: no PriorityClass with name x was found',
  });
  await assert.rejects(admitPod(podWith({ priority: 7 })), /the integer value of priority \(7\) must not be provided/);
});

test("a pod gets the number of its class, or that of the default class", async () => {
  const set = setUp();
  set.informers.put(PriorityClass, { metadata: { name: "high" }, value: 100, preemptionPolicy: "Never" });
  assert.equal((await admitPod(podWith(), {}, set)).priority, 0);
  set.informers.put(PriorityClass, { metadata: { name: "usual" }, value: 5, globalDefault: true });

  const { priority, preemptionPolicy } = await admitPod(podWith({ priorityClassName: "high" }), {}, set);
  assert.deepEqual([priority, preemptionPolicy], [100, "Never"]);
  const { priorityClassName, priority: usual } = await admitPod(podWith(), {}, set);
  assert.deepEqual([priorityClassName, usual], ["usual", 5]);
});

test("there is only one default priority class, and system classes cannot be deleted", async () => {
  const { informers, admit } = setUp();
  const usual = { metadata: { name: "usual" }, value: 5, globalDefault: true };
  await admit(requestFor(PriorityClass, usual));
  informers.put(PriorityClass, usual);

  await admit(requestFor(PriorityClass, usual, { operation: "UPDATE" }));
  await assert.rejects(admit(requestFor(PriorityClass, { ...usual, metadata: { name: "other" } })), {
    message:
      'priorityclasses.scheduling.k8s.io "other" is forbidden: PriorityClass usual is already marked as default. Only one default can exist',
  });
  const removal = { operation: "DELETE", name: "system-node-critical" } as const;
  await assert.rejects(admit(requestFor(PriorityClass, undefined, removal)), {
    message:
      'priorityclasses.scheduling.k8s.io "system-node-critical" is forbidden: this is a system priority class and cannot be deleted',
  });
});
