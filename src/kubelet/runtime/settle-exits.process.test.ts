import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import { systemClock } from "#lib/async/clock.ts";
import { silentLog } from "#lib/process/log.ts";
import { field, message, nested, repeated } from "#lib/proto/grpc/message.ts";
import { serveGrpc, serveStream, serveUnary } from "#lib/proto/grpc/server.ts";
import { ContainerdRuntime } from "./containerd.ts";
import { ContainerStatusRequest, ContainerStatusResponse } from "./cri-messages.ts";

const Any = message({ typeUrl: field(1, "string"), value: field(2, "bytes") });
const Envelope = message({ namespace: field(2, "string"), topic: field(3, "string"), event: nested(4, Any) });
const Subscribe = message({ filters: repeated(1, "string") });
const TaskExit = message({ containerId: field(1, "string"), id: field(2, "string") });

/** CRI's numbers. */
const states = { created: 0, running: 1, exited: 2 } as const;

test("an exit event waits until the runtime shows it, even if the start was not shown yet", async () => {
  const dir = mkdtempSync(path.join(tmpdir(), "orlop-exits-"));
  await using cleanup = new AsyncDisposableStack();
  cleanup.defer(() => rmSync(dir, { recursive: true }));
  const shown = ["created", "created", "running", "exited"] as const;
  let asked = 0;
  const id = "c1";
  const value = TaskExit.encode({ containerId: id, id });
  cleanup.use(
    await serveGrpc(`${dir}/s`, [
      serveStream(
        "/containerd.services.events.v1.Events/Subscribe",
        { request: Subscribe, response: Envelope },
        async function* (_, signal) {
          yield { namespace: "k8s.io", topic: "/tasks/exit", event: { typeUrl: "", value } };
          await new Promise((resolve) => signal.addEventListener("abort", resolve));
        },
      ),
      serveUnary(
        "/runtime.v1.RuntimeService/ContainerStatus",
        { request: ContainerStatusRequest, response: ContainerStatusResponse },
        () => ({ status: { id, state: states[shown[asked++] ?? "exited"] } }),
      ),
    ]),
  );
  using runtime = new ContainerdRuntime({ address: `unix://${dir}/s`, clock: systemClock, log: silentLog });
  const stop = new AbortController();

  const told = [];
  for await (const event of runtime.events(stop.signal)) {
    told.push([event.type, asked]);
    if (event.type === "exited") break;
  }
  stop.abort();

  assert.deepEqual(told, [
    ["resync", 0],
    ["exited", shown.length],
  ]);
});
