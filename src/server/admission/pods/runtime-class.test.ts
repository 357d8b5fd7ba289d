import assert from "node:assert/strict";
import { test } from "node:test";
import { RuntimeClass } from "#api/node/runtime-class.ts";
import { type InputOf } from "#api/resource.ts";
import { admitPod, podWith, setUp } from "../admission.suite.ts";

const withClass = (facts: Omit<InputOf<RuntimeClass>, "metadata" | "handler"> = {}) => {
  const set = setUp();
  set.informers.put(RuntimeClass, { metadata: { name: "sandboxed" }, handler: "gvisor", ...facts });
  return set;
};
const runtimeClassName = "sandboxed";
const refusedWith = (why: string) => ({ message: `pods "web" is forbidden: ${why}` });

test("a pod whose RuntimeClass does not exist is refused", async () => {
  const set = withClass();

  await admitPod(podWith({ runtimeClassName }), {}, set);
  await assert.rejects(
    admitPod(podWith({ runtimeClassName: "other" }), {}, set),
    refusedWith('pod rejected: RuntimeClass "other" not found'),
  );
});

test("a pod gets the overhead of its RuntimeClass, and cannot choose its own", async () => {
  const set = withClass({ overhead: { podFixed: { memory: "128Mi" } } });
  const overheadOf = async (spec: Parameters<typeof podWith>[0]) => (await admitPod(podWith(spec), {}, set)).overhead;

  assert.deepEqual(await overheadOf({ runtimeClassName }), { memory: "128Mi" });
  assert.deepEqual(await overheadOf({ runtimeClassName, overhead: { memory: "0.125Gi" } }), { memory: "128Mi" });
  await assert.rejects(
    overheadOf({ runtimeClassName, overhead: { memory: "1Mi" } }),
    refusedWith("pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"),
  );
  await assert.rejects(
    overheadOf({ overhead: { memory: "1Mi" } }),
    refusedWith("pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"),
  );
});

test("a pod goes to the nodes of its RuntimeClass", async () => {
  const toleration = { key: "sandbox", operator: "Exists", effect: "NoSchedule" } as const;
  const set = withClass({ scheduling: { nodeSelector: { runtime: "gvisor" }, tolerations: [toleration] } });

  const { nodeSelector, tolerations } = await admitPod(
    podWith({ runtimeClassName, nodeSelector: { disk: "ssd" }, tolerations: [toleration] }),
    {},
    set,
  );

  assert.deepEqual(nodeSelector, { disk: "ssd", runtime: "gvisor" });
  assert.deepEqual(
    tolerations?.filter(({ key }) => key === "sandbox"),
    [toleration],
  );
  await assert.rejects(
    admitPod(podWith({ runtimeClassName, nodeSelector: { runtime: "runc" } }), {}, set),
    refusedWith(
      "conflict: runtimeClass.scheduling.nodeSelector[runtime] = gvisor; pod.spec.nodeSelector[runtime] = runc",
    ),
  );
});
