import assert from "node:assert/strict";
import { test } from "node:test";
import { Deployment } from "#api/apps/deployment.ts";
import { Lease } from "#api/coordination/lease.ts";
import { Event } from "#api/core/event.ts";
import { Pod } from "#api/core/pod.ts";
import { runControllers } from "#controllers/all.ts";
import { seededRandom } from "#lib/data/random.ts";
import { type ComponentDeps, startCluster } from "#testing/start-cluster.ts";
import { electing } from "./elect.ts";
import { controllerManagerUser, controllerUser } from "./identities.ts";

const name = "kube-controller-manager";
const metadata = { name: "web", namespace: "default" };
const labels = { app: "web" };

/** A server's controllers, which another server's may replace at any time. */
function standby(deps: ComponentDeps, leading: string[], ends: AbortSignal) {
  const { clock } = deps;
  const once = electing({ clock, log: deps.log, random: seededRandom(1), isShared: true });
  return once(name, deps.clientFor(controllerManagerUser), async (stop) => {
    const self = leading.push("leads");
    await runControllers(
      { ...deps, clientFor: (account) => deps.clientFor(controllerUser(account)), rootCa: "certificate" },
      AbortSignal.any([stop, ends]),
    );
    leading[self - 1] = "ended";
  });
}

test("another server's controllers continue a rollout in the middle of it, and only one server's run", async () => {
  const leading: string[] = [];
  const [first, second] = [new AbortController(), new AbortController()];
  await using cluster = await startCluster({
    controllers: false,
    components: (deps) => [
      () => standby(deps, leading, first.signal)(first.signal),
      (stop) => standby(deps, leading, second.signal)(AbortSignal.any([stop, second.signal])),
    ],
  });
  await cluster.until(() => leading.length === 1);
  let whenFirstEnded: number | undefined;
  let pods = 0;
  cluster.informers.of(Pod).subscribe(({ type }) => {
    pods += type === "put" ? 1 : 0;
    if (pods < 5 || whenFirstEnded !== undefined) return;
    whenFirstEnded = pods;
    first.abort(new Error("the first server ends"));
  });
  const { spec: before } = await cluster.client.get(Lease, { namespace: "kube-system", name });
  await cluster.client.create(Deployment, {
    metadata,
    spec: {
      replicas: 40,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: "c", image: "i" }] } },
    },
  });
  await cluster.until(() => whenFirstEnded !== undefined);
  await cluster.until(async () => (await cluster.list(Pod)).length === 40);
  await cluster.settle();

  assert.deepEqual(leading, ["ended", "leads"]);
  assert.equal((await cluster.list(Pod)).length, 40);
  assert.equal(pods, 40);
  const { spec: after } = await cluster.client.get(Lease, { namespace: "kube-system", name });
  assert.notEqual(after.holderIdentity, before.holderIdentity);
  assert.equal(after.leaseTransitions, 1);
  const messages = (await cluster.list(Event)).filter(({ reason }) => reason === "LeaderElection");
  assert.deepEqual(
    messages.map(({ message }) => message).toSorted(),
    [
      `${after.holderIdentity} became leader`,
      `${before.holderIdentity} became leader`,
      `${before.holderIdentity} stopped leading`,
    ].toSorted(),
  );
});
