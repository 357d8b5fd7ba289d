import assert from "node:assert/strict";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { createServer } from "node:net";
import { test } from "node:test";
import { freePorts } from "#testing/peers/free-ports.ts";
import { freeRange, makeTempDir, runOrlop } from "./support/server.ts";

test("a part of the node that cannot start ends the cluster's process, which says why", async (t) => {
  const dataDir = makeTempDir();
  const [port = 0] = await freePorts(1);
  const taken = createServer().listen(0, "0.0.0.0");
  await once(taken, "listening");
  t.after(async () => {
    taken.close();
    await runOrlop(["down", "--data-dir", dataDir]);
    rmSync(dataDir, { recursive: true, force: true });
  });
  const address = taken.address();
  assert(address && typeof address === "object");
  const ranges = ["--cluster-cidr", freeRange(100), "--service-cidr", freeRange(160)];
  const places = ["--data-dir", dataDir, "--port", `${port}`, "--kubelet-port", `${address.port}`, ...ranges];

  // In the foreground nobody looks at the ports first.
  const { code, stderr } = await runOrlop(["up", "--foreground", "--node-name", "failed", ...places]);

  assert.equal(code, 1);
  assert.match(stderr, new RegExp(`port ${address.port}`));
});
