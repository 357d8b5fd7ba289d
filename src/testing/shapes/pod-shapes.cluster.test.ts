import assert from "node:assert/strict";
import { test } from "node:test";
import { podShapes } from "./pod-shapes.ts";
import { simulateShapes } from "./simulate-shapes.ts";

/** What keeps a pod from starting, in upstream's words. */
const faults: Readonly<Record<string, readonly [place: string, event: string]>> = {
  "no-config-map": [
    "",
    'Warning FailedMount: MountVolume.SetUp failed for volume "data" : configmap "nothing" not found',
  ],
  "no-config-map-key": [
    "",
    'Warning FailedMount: MountVolume.SetUp failed for volume "data" : configmap references non-existent config key: size',
  ],
  "no-secret": ["", 'Warning FailedMount: MountVolume.SetUp failed for volume "data" : secret "nothing" not found'],
  "no-claim": [
    "",
    'Warning FailedMount: Unable to attach or mount volumes: unmounted volumes=[data], unattached volumes=[], failed to process volumes=[data]: error processing PVC default/nothing: failed to fetch PVC from API server: persistentvolumeclaims "nothing" not found',
  ],
  "unbound-claim": [
    "",
    "Warning FailedMount: Unable to attach or mount volumes: unmounted volumes=[data], unattached volumes=[], failed to process volumes=[data]: error processing PVC default/unbound: PVC is not bound",
  ],
  "no-driver": ["", 'Warning FailedMount: MountVolume.SetUp failed for volume "data" : no volume plugin matched'],
  "env-no-secret": ["spec.containers{main}", 'Warning Failed: Error: secret "nothing" not found'],
  "not-alive": ["spec.containers{main}", "Normal Killing: Container main failed liveness probe, will be restarted"],
};

test("every shape of pod reaches its goal on a simulated node, and faults are told as upstream tells them", async () => {
  const histories = await simulateShapes(podShapes);

  assert(podShapes.length >= 60);
  for (const [name, [place, expected]] of Object.entries(faults)) {
    const events = histories.get(name)?.events[place] ?? [];
    assert(events.includes(expected), `${name}: ${events.join("\n")}`);
  }
  assert.deepEqual(histories.get("init")?.status.phase, ["Pending", "Running"]);
  assert.deepEqual(histories.get("no-claim")?.status.phase, ["Pending"]);
});
