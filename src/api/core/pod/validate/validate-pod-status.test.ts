import assert from "node:assert/strict";
import { test } from "node:test";
import { Pod, type Pod as PodType } from "#api/core/pod.ts";
import { faultsIn } from "#api/cursor.ts";
import { decode } from "#schema/json/decode.ts";
import { PodStatus } from "../pod-status.ts";
import { aPod, lines } from "../testing-pod.ts";

const withStatus = (pod: PodType, status: Record<string, unknown>): PodType => ({
  ...pod,
  status: decode(PodStatus, { qosClass: "BestEffort", ...status }, { defaults: true }).value,
});
const statusOf = (name: string, state: object) => ({
  name,
  image: "i",
  imageID: "",
  ready: false,
  restartCount: 0,
  state,
});
const ended = (exitCode: number) => ({ terminated: { exitCode } });

const cases = [
  { name: "a running pod", spec: {}, old: {}, now: { phase: "Running", podIPs: [{ ip: "10.0.0.1" }] }, faults: [] },
  {
    name: "a container that ended for good and runs again",
    spec: { restartPolicy: "OnFailure" },
    old: { containerStatuses: [statusOf("web", ended(0))] },
    now: { containerStatuses: [statusOf("web", { running: {} })] },
    faults: ["status.containerStatuses[0].state: Forbidden: may not be transitioned to non-terminated state"],
  },
  {
    name: "a container that failed and is restarted",
    spec: { restartPolicy: "OnFailure" },
    old: { containerStatuses: [statusOf("web", ended(1))] },
    now: { containerStatuses: [statusOf("web", { running: {} })] },
    faults: [],
  },
  {
    name: "another class of service",
    spec: {},
    old: {},
    now: { qosClass: "Burstable" },
    faults: ['status.qosClass: Invalid value: "Burstable": field is immutable'],
  },
  {
    name: "two addresses of one family",
    spec: {},
    old: {},
    now: { podIPs: [{ ip: "10.0.0.1" }, { ip: "10.0.0.2" }], hostIP: "1.2.3.4", hostIPs: [{ ip: "1.2.3.5" }] },
    faults: [
      'status.podIPs: Invalid value: [{"ip":"10.0.0.1"},{"ip":"10.0.0.2"}]: may specify no more than one IP for each IP family',
      'status.hostIPs[0].ip: Invalid value: "1.2.3.5": must be equal to `hostIP`',
    ],
  },
  {
    name: "a nomination of a placed pod",
    spec: { nodeName: "n" },
    old: {},
    now: { nominatedNodeName: "m" },
    faults: ["status.nominatedNodeName: Forbidden: may not be set on pods that are already bound to a node"],
  },
  {
    name: "the state of a claim that is not there",
    spec: {},
    old: {},
    now: { resourceClaimStatuses: [{ name: "c" }] },
    faults: [
      'status.resourceClaimStatuses[0].name: Invalid value: "c": must match the name of an entry in `spec.resourceClaims`',
    ],
  },
];
for (const { name, spec, old, now, faults } of cases) {
  test(`a status is checked: ${name}`, () => {
    const pod = aPod(spec);

    assert.deepEqual(
      lines(faultsIn(withStatus(pod, now), (at) => Pod.validateStatusUpdate?.(at, withStatus(pod, old)))),
      faults,
    );
  });
}
