import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { test } from "node:test";
import { systemClock } from "#lib/async/clock.ts";
import { silentLog } from "#lib/process/log.ts";
import { serveGrpc, serveUnary } from "#lib/proto/grpc/server.ts";
import { ContainerdRuntime } from "./containerd.ts";
import {
  ContainerId,
  ContainerStatusRequest,
  ContainerStatusResponse,
  Empty,
  ListContainersRequest,
  ListContainersResponse,
  PodSandboxId,
} from "./cri-messages.ts";

const id = "c1";
/** CRI's numbers. */
const states = { running: 1, exited: 2 } as const;

test("an out-of-memory kill that containerd missed is the reason, whatever the exit code", async () => {
  await using node = await aNode();
  await node.note();

  for (const [exitCode, reason] of [
    [137, "Error"],
    [3, "Error"],
    [0, "Completed"],
  ] as const) {
    node.tell({ state: states.exited, exitCode, reason });
    const status = await node.runtime.containerStatus(id);
    assert.deepEqual([status?.exitCode, status?.reason], [exitCode, "OOMKilled"]);
  }
});

test("without a note the reason is containerd's, even if it learns of the kill late", async () => {
  await using node = await aNode();

  for (const reason of ["Error", "OOMKilled"]) {
    node.tell({ state: states.exited, exitCode: 137, reason });
    assert.equal((await node.runtime.containerStatus(id))?.reason, reason);
  }
});

test("a note changes neither a running container nor a reason that containerd knows", async () => {
  await using node = await aNode();
  await node.note();

  node.tell({ state: states.running, exitCode: 0, reason: "" });
  assert.equal((await node.runtime.containerStatus(id))?.reason, "");
  node.tell({ state: states.exited, exitCode: 128, reason: "StartError" });
  assert.equal((await node.runtime.containerStatus(id))?.reason, "StartError");
});

test("the note is removed with the container", async () => {
  await using node = await aNode();
  await node.note();

  await node.runtime.removeContainer(id);

  assert(!existsSync(`${node.oomNotes}/${id}`));
});

test("the note goes with the sandbox, which takes its containers along", async () => {
  await using node = await aNode();
  await node.note();
  await node.note("of-another-sandbox");

  await node.runtime.removeSandbox("s1");

  assert.deepEqual(await readdir(node.oomNotes), ["of-another-sandbox"]);
});

interface Told {
  readonly state: number;
  readonly exitCode: number;
  readonly reason: string;
}

async function aNode() {
  const dir = await mkdtemp(`${tmpdir()}/orlop-oom-reason-`);
  const oomNotes = `${dir}/oom`;
  await mkdir(oomNotes);
  let hasSandbox = true;
  let told: Told = { state: states.running, exitCode: 0, reason: "" };
  const server = await serveGrpc(`${dir}/s`, [
    serveUnary(
      "/runtime.v1.RuntimeService/ContainerStatus",
      { request: ContainerStatusRequest, response: ContainerStatusResponse },
      () => ({ status: { id, ...told } }),
    ),
    serveUnary("/runtime.v1.RuntimeService/RemoveContainer", { request: ContainerId, response: Empty }, () => ({})),
    serveUnary("/runtime.v1.RuntimeService/RemovePodSandbox", { request: PodSandboxId, response: Empty }, () => {
      hasSandbox = false;
      return {};
    }),
    serveUnary(
      "/runtime.v1.RuntimeService/ListContainers",
      { request: ListContainersRequest, response: ListContainersResponse },
      ({ filter }) => ({ containers: hasSandbox && filter?.podSandboxId === "s1" ? [{ id, podSandboxId: "s1" }] : [] }),
    ),
  ]);
  const runtime = new ContainerdRuntime({ address: `unix://${dir}/s`, oomNotes, clock: systemClock, log: silentLog });
  return {
    oomNotes,
    runtime,
    tell: (next: Told) => {
      told = next;
    },
    note: (of = id) => writeFile(`${oomNotes}/${of}`, "1\n"),
    [Symbol.asyncDispose]: async () => {
      runtime.close();
      await server[Symbol.asyncDispose]();
      await rm(dir, { recursive: true });
    },
  };
}
