import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import { allResources } from "#api/all.ts";
import { type Log, silentLog } from "#lib/process/log.ts";
import { Metrics } from "#lib/process/metrics.ts";
import { openMemoryStore } from "#store/memory.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { Encryption } from "./encryption.ts";

const configuration = (name: string): string =>
  JSON.stringify({
    apiVersion: "apiserver.config.k8s.io/v1",
    kind: "EncryptionConfiguration",
    resources: [
      {
        resources: ["secrets"],
        providers: [{ aesgcm: { keys: [{ name, secret: Buffer.alloc(16, 1).toString("base64") }] } }, { identity: {} }],
      },
    ],
  });

test("a file that changes is used within a minute, and one with a fault is not", async () => {
  const dir = await mkdtemp(path.join(tmpdir(), "orlop-reload-"));
  try {
    const file = path.join(dir, "encryption.yaml");
    await writeFile(file, configuration("one"));
    const clock = createVirtualClock();
    const errors: string[] = [];
    const log: Log = { ...silentLog, error: (message) => void errors.push(message) };
    await using encryption = await Encryption.open({ file, reloads: true, resources: allResources, clock, log });
    const metrics = new Metrics();
    const inner = openMemoryStore({ clock });
    const store = encryption.around(inner, metrics);
    const key = "/registry/secrets/default/a";
    const writer = async (): Promise<string> => {
      await store.commit([{ key, value: Buffer.from("value") }]);
      return (
        Buffer.from((await inner.get(key))?.value ?? [])
          .toString("latin1")
          .split(":")[4] ?? ""
      );
    };
    const passes = async (text: string): Promise<void> => {
      await writeFile(file, text);
      await clock.advance(60_000);
      // Reading the file takes real time.
      const isSettled = () => /reloads_total\{status="(success|failure)"\} 1/.test(metrics.render());
      while (!isSettled()) await new Promise((resolve) => setImmediate(resolve));
    };

    assert.equal(await writer(), "one");
    await passes(configuration("two"));
    assert.equal(await writer(), "two");
    await writeFile(file, "kind: Pod");
    await clock.advance(60_000);
    while (errors.length === 0) await new Promise((resolve) => setImmediate(resolve));
    assert.equal(await writer(), "two");
    assert.match(metrics.render(), /reloads_total\{status="failure"\} 1/);
    const operations = 'transformation_type="to_storage",transformer_prefix="k8s:enc:aesgcm:v1:",status="OK"} 3';
    assert(metrics.render().includes(`apiserver_storage_transformation_operations_total{${operations}`));
  } finally {
    await rm(dir, { recursive: true });
  }
});
