import assert from "node:assert/strict";
import { test } from "node:test";
import { Pod } from "#api/core/pod.ts";
import { PodDisruptionBudget } from "#api/policy/pod-disruption-budget.ts";
import { badRequest, serviceUnavailable, staleObject } from "#api/status.ts";
import { type Client } from "#client/client.ts";
import { build } from "#testing/build.ts";
import { createFakeInformers } from "#testing/fake-informers.ts";
import { asking, makeNode, makePod, podKey, snapshotOf, testProfile } from "#testing/scheduling.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { Decider } from "../decide.ts";
import { EndedVictims } from "./ended-victims.ts";
import { Nominations } from "./nominations.ts";
import { Preemptor } from "./preemptor.ts";

const podOf = (
  name: string,
  priority: number,
  parts: { nodeName?: string; labels?: Record<string, string>; affinity?: ReturnType<typeof notOn> } = {},
): Pod => {
  const pod = makePod(name, { priority, containers: [asking({ cpu: "2" })], ...parts });
  return { ...pod, metadata: { ...pod.metadata, uid: name } };
};

const notOn = (node: string) => {
  const matchExpressions = [{ key: "name", operator: "NotIn" as const, values: [node] }];
  const terms = { nodeSelectorTerms: [{ matchExpressions }] };
  return { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: terms } };
};

/** Two nodes with a pod that a budget protects, which allows one of them to end, and one with a more important pod. */
function setUp(client: object = {}) {
  const informers = createFakeInformers();
  const labels = { app: "guarded" };
  informers.put(
    PodDisruptionBudget,
    build(PodDisruptionBudget, {
      metadata: { name: "b", namespace: "default" },
      spec: { selector: { matchLabels: labels } },
      status: { disruptionsAllowed: 1, currentHealthy: 2, desiredHealthy: 1, expectedPods: 2 },
    }),
  );
  const allocatable = { cpu: "2", memory: "8Gi", pods: "10" };
  const snapshot = snapshotOf(
    ["a", "b", "c"].map((name) => makeNode(name, { status: { allocatable }, labels: { name } })),
    [
      podOf("first", 0, { nodeName: "a", labels }),
      podOf("second", 0, { nodeName: "b", labels }),
      podOf("other", 5, { nodeName: "c" }),
    ],
  );
  const profile = testProfile();
  const nominations = new Nominations();
  const decider = new Decider(profile, snapshot, () => 0, nominations);
  const budgets = informers.of(PodDisruptionBudget);
  const clock = createVirtualClock();
  const preemptor = new Preemptor({
    client: client as Client,
    events: { event: () => undefined } as never,
    clock,
    schedulerName: profile.schedulerName,
    plugins: profile.plugins,
    snapshot,
    nominations,
    budgets,
    random: () => 0,
    ended: new EndedVictims((namespace) => budgets.list(namespace), clock),
  });
  return async (pod: Pod) => {
    const decision = decider.decide(pod);
    assert(decision.node === undefined);
    let isTriedAgain = false;
    const search = { isThere: () => true, again: () => (isTriedAgain = true) };
    const outcome = await preemptor.makeRoom({ key: podKey(pod), pod }, decision.rejections, search);
    const victims = outcome?.victims.map((victim) => victim.pod.metadata.name);
    const end = async () => outcome?.run(new AbortController().signal);
    return { victims, end, isTriedAgain: () => isTriedAgain, forget: () => preemptor.forget(podKey(pod)) };
  };
}

test("a pod that was chosen to end counts against its budget before its end is written", async () => {
  const makeRoomFor = setUp();

  assert.deepEqual((await makeRoomFor(podOf("one", 10))).victims, ["first"]);
  assert.deepEqual((await makeRoomFor(podOf("two", 10))).victims, ["other"]);
});

test("a pod that the server did not let end counts against its budget no more", async () => {
  const makeRoomFor = setUp({ patch: () => Promise.reject(badRequest("a webhook said no")) });
  const { victims, end } = await makeRoomFor(podOf("one", 10));
  assert.deepEqual(victims, ["first"]);

  await assert.rejects(end, /said no/);

  assert.deepEqual((await makeRoomFor(podOf("one", 10))).victims, ["first"]);
});

test("a pod that may have been ended counts against its budget", async () => {
  const makeRoomFor = setUp({ patch: () => Promise.reject(serviceUnavailable("the answer was lost")) });
  const { end } = await makeRoomFor(podOf("one", 10));

  await assert.rejects(end, /was lost/);

  assert.deepEqual((await makeRoomFor(podOf("two", 10))).victims, ["other"]);
});

test("a pod whose victims could not be ended is tried again", async () => {
  for (const error of [staleObject(Pod, "first"), serviceUnavailable("the answer was lost")]) {
    const makeRoomFor = setUp({ patch: () => Promise.reject(error), get: async () => podOf("first", 0) });
    const { end, isTriedAgain } = await makeRoomFor(podOf("one", 10));

    await assert.rejects(end, error);

    assert.equal(isTriedAgain(), true);
    assert.deepEqual((await makeRoomFor(podOf("one", 10))).victims, ["first"], "it does not wait for them");
  }
});

test("nobody ends for the sake of a pod that has gone before that was written", async () => {
  const makeRoomFor = setUp({ patch: () => assert.fail("a victim was ended") });
  const { end, forget } = await makeRoomFor(podOf("one", 10));
  forget();

  await end();
});

test("victims that nobody ended, because their pod had gone, count against their budget no more", async () => {
  const makeRoomFor = setUp();
  const { victims, forget } = await makeRoomFor(podOf("one", 10));
  assert.deepEqual(victims, ["first"]);

  forget();

  const two = podOf("two", 10, { affinity: notOn("a") });
  assert.deepEqual((await makeRoomFor(two)).victims, ["second"]);
});

test("a pod waits for its victims, although another pod could not be told to look elsewhere", async () => {
  const lost = serviceUnavailable("the answer was lost");
  const client = {
    patch: async (_: unknown, __: unknown, { body }: { body: { status: { nominatedNodeName?: null } } }) => {
      if (body.status.nominatedNodeName === null) throw lost;
    },
    delete: async () => undefined,
  };
  const makeRoomFor = setUp(client);
  await makeRoomFor(podOf("lesser", 10));
  const { victims, end, isTriedAgain } = await makeRoomFor(podOf("one", 20));
  assert.deepEqual(victims, ["first"]);

  await assert.rejects(end, lost);

  assert.equal(isTriedAgain(), false);
  assert.deepEqual((await makeRoomFor(podOf("one", 20))).victims, [], "they are about to end");
});
