import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import { systemClock } from "#lib/async/clock.ts";
import { silentLog } from "#lib/process/log.ts";
import { field, message } from "#lib/proto/grpc/message.ts";
import { serveGrpc, serveUnary } from "#lib/proto/grpc/server.ts";
import { GrpcError } from "#lib/proto/grpc/status.ts";
import { ContainerdRuntime } from "./containerd.ts";
import { ContainerId, Empty } from "./cri-messages.ts";

const Kill = message({ containerId: field(1, "string"), signal: field(3, "uint32"), all: field(4, "bool") });
const TaskId = message({ containerId: field(1, "string") });

/** A runtime with one container, which CRI takes for ended although its task runs. */
async function loseTask(taskEnded: boolean) {
  const dir = mkdtempSync(path.join(tmpdir(), "orlop-tasks-"));
  const cleanup = new AsyncDisposableStack();
  cleanup.defer(() => rmSync(dir, { recursive: true }));
  const calls: string[] = [];
  let isThere = true;
  const refuse = (text: string) => {
    throw new GrpcError("FAILED_PRECONDITION", text);
  };
  cleanup.use(
    await serveGrpc(`${dir}/s`, [
      serveUnary("/runtime.v1.RuntimeService/RemoveContainer", { request: ContainerId, response: Empty }, () => {
        calls.push("remove container");
        if (isThere) refuse("cannot delete running task c1");
        return {};
      }),
      serveUnary("/containerd.services.tasks.v1.Tasks/Kill", { request: Kill, response: Empty }, (request) => {
        calls.push(`kill ${request.containerId} ${request.signal} ${request.all}`);
        if (taskEnded) refuse("process already finished");
        return {};
      }),
      serveUnary("/containerd.services.tasks.v1.Tasks/Delete", { request: TaskId, response: Empty }, (request) => {
        calls.push(`delete ${request.containerId}`);
        if (!taskEnded && calls.length < 4) refuse("cannot delete running task c1");
        isThere = false;
        return {};
      }),
    ]),
  );
  const runtime = cleanup.use(
    new ContainerdRuntime({ address: `unix://${dir}/s`, clock: systemClock, log: silentLog }),
  );
  return { runtime, calls, [Symbol.asyncDispose]: () => cleanup.disposeAsync() };
}

for (const taskEnded of [false, true]) {
  test(`removeContainer() ends a task that CRI has lost${taskEnded ? ", also one that has exited" : ""}`, async () => {
    await using lost = await loseTask(taskEnded);

    await lost.runtime.removeContainer("c1");

    const deletions = taskEnded ? ["delete c1"] : ["delete c1", "delete c1"];
    assert.deepEqual(lost.calls, ["remove container", "kill c1 9 true", ...deletions, "remove container"]);
  });
}
