import assert from "node:assert/strict";
import { test } from "node:test";
import { allResources } from "#api/all.ts";
import { read, warningsOfNew } from "#api/faults.suite.ts";
import { type Resource } from "#api/resource.ts";

const template = {
  metadata: { labels: { app: "a" } },
  spec: {
    restartPolicy: "Never",
    containers: [{ name: "c", image: "i" }],
    volumes: [{ name: "v", scaleIO: { gateway: "g", system: "s", volumeName: "v" } }],
    schedulingGroup: { podGroupName: "g" },
  },
};
const spec = { selector: { matchLabels: { app: "a" } }, template };
const kinds: readonly [kind: string, body: object, at: string][] = [
  ["PodTemplate", { template }, "template"],
  ["ReplicationController", { spec: { selector: { app: "a" }, template } }, "spec.template"],
  ["ReplicaSet", { spec }, "spec.template"],
  ["Deployment", { spec }, "spec.template"],
  ["StatefulSet", { spec }, "spec.template"],
  ["DaemonSet", { spec }, "spec.template"],
  ["Job", { spec: { template } }, "spec.template"],
  ["CronJob", { spec: { schedule: "@daily", jobTemplate: { spec: { template } } } }, "spec.jobTemplate.spec.template"],
];

for (const [kind, body, at] of kinds) {
  const resource = resourceOf(kind);
  const input = { apiVersion: "", kind, metadata: { name: "x", namespace: "default" }, ...body };

  test(`${kind} warns of deprecated volumes in its template`, () => {
    const warning = `${at}.spec.volumes[0].scaleIO: deprecated in v1.16, non-functional in v1.22+`;

    assert.deepEqual(warningsOfNew(resource, input), [warning]);
  });

  test(`${kind} drops fields of features that are off from its template, unless it had them`, () => {
    const [created, before, updated] = [read(resource, input), read(resource, input), read(resource, input)];

    resource.prepareForCreate?.(created);
    resource.prepareForUpdate?.(updated, before);

    assert.doesNotMatch(JSON.stringify(created), /schedulingGroup/);
    assert.match(JSON.stringify(updated), /"schedulingGroup":\{"podGroupName":"g"\}/);
  });
}

function resourceOf(kind: string): Resource {
  const found = allResources.find((resource) => resource.kind === kind);
  assert(found, `there is no kind ${kind}`);
  return found;
}
