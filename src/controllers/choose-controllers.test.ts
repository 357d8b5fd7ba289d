import assert from "node:assert/strict";
import { test } from "node:test";
import { controllerNames } from "./all.ts";
import { chooseControllers } from "./choose-controllers.ts";

const existing = new Set(["job-controller", "cronjob-controller", "replicaset-controller"]);

const choices: readonly [string[], string[]][] = [
  [["*"], ["job-controller", "cronjob-controller", "replicaset-controller"]],
  [
    ["*", "-job-controller"],
    ["cronjob-controller", "replicaset-controller"],
  ],
  [
    ["-job", "*"],
    ["cronjob-controller", "replicaset-controller"],
  ],
  [
    ["job", "cronjob-controller"],
    ["job-controller", "cronjob-controller"],
  ],
  [["job", "-job"], ["job-controller"]],
  [
    ["-job", "job", "*"],
    ["cronjob-controller", "replicaset-controller"],
  ],
  [
    ["*", "-ttl"],
    ["job-controller", "cronjob-controller", "replicaset-controller"],
  ],
  [[], []],
];
for (const [choice, running] of choices) {
  test(`chooseControllers() reads ${JSON.stringify(choice.join())}`, () => {
    assert.deepEqual([...existing].filter(chooseControllers(choice, existing)), running);
  });
}

const refused: readonly [string, RegExp][] = [
  ["replicasets", /"replicasets" is not in the list of known controllers: did you mean replicaset\?/],
  ["-jobs-controller", /did you mean job-controller\?/],
  ["zzz", /choose from cronjob-controller, job-controller, replicaset-controller/],
  ["selinux-warning-controller", /selinux-warning-controller is not part of Orlop: remove it/],
];
for (const [word, message] of refused) {
  test(`chooseControllers() refuses ${word}`, () => {
    assert.throws(() => chooseControllers([word], existing), { name: "ControllerChoiceError", message });
  });
}

test("every controller can be chosen by its name", () => {
  for (const name of controllerNames) {
    assert.deepEqual([...controllerNames].filter(chooseControllers([name], controllerNames)), [name]);
  }
  assert(controllerNames.size > 20);
});
