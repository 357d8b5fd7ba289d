import assert from "node:assert/strict";
import { test } from "node:test";
import { Pod } from "#api/core/pod.ts";
import { createFakeInformers } from "#testing/fake-informers.ts";
import { AutoscaledPods } from "./autoscaled-pods.ts";

const namespace = "shop";

function setUp() {
  const informers = createFakeInformers();
  const pod = (name: string, labels: Record<string, string>) =>
    informers.put(Pod, { metadata: { namespace, name, labels }, spec: { containers: [] } });
  pod("web", { app: "web", tier: "front" });
  pod("db", { app: "db" });
  const pods = new AutoscaledPods(informers.of(Pod));
  /** The names of the pods, or of the autoscalers that select the same. */
  const select = async (name: string, selector: string): Promise<string> => {
    const answer = await pods.select({ namespace, name }, selector);
    if ("fault" in answer) return /\[.*\]/.exec(answer.fault.text)?.[0] ?? answer.fault.text;
    return answer.pods.map(({ metadata }) => metadata.name).join(" ");
  };
  return { pods, select };
}

test("AutoscaledPods finds another autoscaler of the same pods, by whatever label it selects them", async () => {
  for (const selector of ["app=web", "tier in (front)", "tier", "app notin (db)", "app in (web, other)"]) {
    const { select } = setUp();
    await select("other", selector);
    assert.equal(await select("mine", "app=web"), "[{mine shop} {other shop}]", selector);
    assert.equal(await select("third", "app=db"), "db", selector);
  }
});

test("AutoscaledPods forgets what an autoscaler no longer selects", async () => {
  const { pods, select } = setUp();

  await select("other", "app=web");
  assert.equal(await select("other", "app=db"), "db");
  assert.equal(await select("mine", "app=web"), "web");
  await select("other", "tier");
  assert.equal(await select("mine", "app=web"), "[{mine shop} {other shop}]");
  pods.forget({ namespace, name: "other" });
  assert.equal(await select("mine", "app=web"), "web");
});

test("AutoscaledPods looks once at the autoscalers of a label, however many pods have it", async () => {
  const informers = createFakeInformers();
  const pods = new AutoscaledPods(informers.of(Pod));
  const select = (n: number) => pods.select({ namespace, name: `scaler-${n}` }, "app=web");
  for (let n = 0; n < 2000; n++) await select(n);
  for (let n = 0; n < 8000; n++) {
    const metadata = { namespace, name: `web-${n}`, labels: { app: "web" } };
    informers.put(Pod, { metadata, spec: { containers: [] } });
  }
  await select(0);

  const before = process.cpuUsage();
  const answer = await select(0);
  const { user, system } = process.cpuUsage(before);

  assert("fault" in answer);
  // A look for each pod takes more than 200 ms.
  assert((user + system) / 1000 < 80, `${(user + system) / 1000} ms`);
});
