import assert from "node:assert/strict";
import { test } from "node:test";
import { Pod } from "#api/core/pod.ts";
import { badRequest } from "#api/status.ts";
import { podWith, requestFor } from "./admission.suite.ts";
import { createAdmission } from "./chain.ts";
import { type AdmissionPlugin } from "./plugin.ts";

test("createAdmission() calls the plugins that apply in order, and waits for promises", async () => {
  const asked: string[] = [];
  const plugin = (name: string, wait: boolean, applies = true): AdmissionPlugin => ({
    name,
    appliesTo: () => applies,
    mutate() {
      asked.push(name);
      return wait ? Promise.resolve() : undefined;
    },
  });
  const admission = createAdmission([
    plugin("a", false),
    plugin("b", true),
    plugin("c", false, false),
    plugin("d", false),
  ]);

  await admission.mutate(requestFor(Pod, podWith()));
  assert.deepEqual(asked, ["a", "b", "d"]);
  assert.equal(admission.validate(requestFor(Pod, podWith())), undefined);
});

test("createAdmission() asks a plugin once for each type of write whether it applies", () => {
  const asked: string[] = [];
  const plugin: AdmissionPlugin = {
    name: "a",
    appliesTo: ({ operation, resource, subresource }) =>
      asked.push(`${operation} ${resource.plural} ${subresource}`) > 1,
    validate() {
      throw badRequest("no");
    },
  };
  const { validate } = createAdmission([plugin]);
  const status = requestFor(Pod, podWith(), { operation: "UPDATE", subresource: "status" });

  for (let round = 0; round < 3; round++) {
    assert.equal(validate(requestFor(Pod, podWith())), undefined);
    assert.throws(() => validate(status), /no/);
  }
  assert.deepEqual(asked, ["CREATE pods ", "UPDATE pods status"]);
});

test("createAdmission() rethrows a refusal unchanged, and names a plugin that fails", () => {
  const refusing = (error: Error): AdmissionPlugin => ({
    name: "Strict",
    appliesTo: () => true,
    validate() {
      throw error;
    },
  });
  const run = (error: Error) => createAdmission([refusing(error)]).validate(requestFor(Pod, podWith()));

  assert.throws(() => run(badRequest("no")), { message: "no", code: 400 });
  assert.throws(() => run(new TypeError("boom")), {
    name: "StepError",
    message: 'running admission plugin "Strict": boom',
  });
});

test("createAdmission() calls all plugins that change the object once more if one of them asks", async () => {
  const asked: string[] = [];
  const asking = (name: string, isNeeded: boolean): AdmissionPlugin => ({
    name,
    appliesTo: () => true,
    mutate: async () => void asked.push(name),
    again: { isNeeded: () => isNeeded, start: () => void asked.push(`${name} again`) },
  });
  const plain: AdmissionPlugin = { name: "a", appliesTo: () => true, mutate: () => void asked.push("a") };

  await createAdmission([plain, asking("b", true), asking("c", false)]).mutate(requestFor(Pod, podWith()));
  assert.deepEqual(asked, ["a", "b", "c", "b again", "c again", "a", "b", "c"]);

  asked.length = 0;
  await createAdmission([plain, asking("b", false)]).mutate(requestFor(Pod, podWith()));
  assert.deepEqual(asked, ["a", "b"]);
});
