import assert from "node:assert/strict";
import { test } from "node:test";
import { Lease } from "orlop/api/coordination/lease.ts";
import { type ComponentDeps, startCluster } from "orlop/testing";
import { seed } from "./web.ts";

const ref = { namespace: "default", name: "operator" };
const secondsUntilLost = 15;

/** A replica of an operator: it leads while it holds the lease. */
const replica =
  (identity: string) =>
  ({ client, clock }: ComponentDeps) =>
  async (signal: AbortSignal): Promise<void> => {
    while (!signal.aborted) {
      await lead(client, identity, clock.now()).catch(() => {});
      await clock.sleep(2000, signal).catch(() => {});
    }
  };

async function lead(client: ComponentDeps["client"], identity: string, nowMs: number): Promise<void> {
  const found = await client.get(Lease, ref).catch(() => undefined);
  const renewTime = new Date(nowMs).toISOString().replace("Z", "000Z");
  const spec = { holderIdentity: identity, renewTime, leaseDurationSeconds: secondsUntilLost };
  if (!found) return void (await client.create(Lease, { metadata: ref, spec }));
  const isLost = nowMs - Date.parse(found.spec?.renewTime ?? "") > secondsUntilLost * 1000;
  if (found.spec?.holderIdentity !== identity && !isLost) return;
  await client.update(Lease, { ...found, spec: { ...found.spec, ...spec } });
}

test("another replica leads when the leader crashes, and not before", async () => {
  await using cluster = await startCluster({ seed, components: (deps) => [replica("a")(deps), replica("b")(deps)] });
  const leader = async () => (await cluster.client.get(Lease, ref)).spec?.holderIdentity;
  await cluster.clock.advance(10_000);
  const first = await leader();

  await cluster.components.get(first === "a" ? "component-1" : "component-2")?.stop();
  await cluster.clock.advance(10_000);
  assert.equal(await leader(), first);
  await cluster.clock.advance(10_000);

  assert.equal(await leader(), first === "a" ? "b" : "a");
});
