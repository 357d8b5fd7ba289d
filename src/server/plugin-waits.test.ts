import assert from "node:assert/strict";
import { test } from "node:test";
import { Pod } from "#api/core/pod.ts";
import { Metrics } from "#lib/process/metrics.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { podWith, requestFor } from "./admission/admission.suite.ts";
import { createAdmission } from "./admission/chain.ts";
import { type AdmissionPlugin } from "./admission/plugin.ts";
import { pluginWaits } from "./plugin-waits.ts";

test("pluginWaits() counts only the plugins that made a request wait", async () => {
  const metrics = new Metrics();
  const clock = createVirtualClock();
  const quick: AdmissionPlugin = { name: "Quick", appliesTo: () => true, validate() {} };
  const slow: AdmissionPlugin = { name: "Slow", appliesTo: () => true, validate: () => clock.sleep(2000) };
  const admission = createAdmission([quick, slow], pluginWaits({ metrics, clock }, "admission"));

  const admitted = admission.validate(requestFor(Pod, podWith()));
  await clock.advance(2000);
  await admitted;

  const text = metrics.render();
  assert.match(text, /orlop_plugin_wait_seconds_sum\{chain="admission",plugin="Slow"\} 2\n/);
  assert.match(text, /orlop_plugin_wait_seconds_count\{chain="admission",plugin="Slow"\} 1\n/);
  assert.doesNotMatch(text, /Quick/);
});
