/** Data outlives pods, crashes and restarts, and goes with its claim: real kubectl, real containers. */
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import path from "node:path";
import { after, before, suite, test } from "node:test";
import { freePorts } from "#testing/peers/free-ports.ts";
import { findKubectls, Kubectl } from "./support/kubectl.ts";
import { deadline, freeRange, makeTempDir, runOrlop } from "./support/server.ts";

const root = path.resolve(import.meta.dirname, "..");
const dataDir = makeTempDir();
const home = makeTempDir();
const kubeconfig = path.join(home, "config");
process.env.KUBECONFIG = kubeconfig;
process.env.HOME = home;

let kubectl: Kubectl;
let flags: string[];

async function orlop(...args: string[]): Promise<void> {
  const { code, stdout, stderr } = await runOrlop(args);
  assert.equal(code, 0, stderr + stdout);
}

before(async () => {
  const [port, kubeletPort] = await freePorts(2);
  const ports = ["--port", `${port}`, "--kubelet-port", `${kubeletPort}`];
  flags = ["--data-dir", dataDir, ...ports, "--cluster-cidr", freeRange(101), "--service-cidr", freeRange(161)];
  await orlop("up", ...flags);
  const [program] = findKubectls();
  assert(program);
  kubectl = new Kubectl({ program, kubeconfig, namespace: "default", home });
  await kubectl.ok(["apply", "-f", path.join(root, "examples/database.yaml")]);
  await kubectl.ok("rollout status sts/db --timeout=120s");
});

after(async () => {
  await orlop("down", "--data-dir", dataDir);
  const isGone = !existsSync(dataDir);
  rmSync(home, { recursive: true, force: true });
  rmSync(dataDir, { recursive: true, force: true });
  assert(isGone);
});

/** How often the first pod has started, as its volume remembers it. */
const starts = async (): Promise<number> => {
  await kubectl.ok("wait --for=condition=Ready pod/db-0 --timeout=120s");
  const text = await deadline("the pod to run", async () => {
    return (await kubectl.ok("exec db-0 -- cat /data/log").catch(() => undefined)) ?? undefined;
  });
  return text.trimEnd().split("\n").length;
};

suite("a StatefulSet with volumes", () => {
  test("keeps its data when a pod is deleted, when Orlop is killed, and over down --keep-data", async () => {
    assert.equal(await starts(), 1);
    await kubectl.ok("delete pod db-0");
    assert.equal(await starts(), 2);

    const { pid } = JSON.parse(readFileSync(path.join(dataDir, "cluster.json"), "utf8")) as { pid: number };
    process.kill(pid, "SIGKILL");
    await orlop("up", ...flags);
    assert.equal(await starts(), 2);

    await orlop("down", "--data-dir", dataDir, "--keep-data");
    await orlop("up", ...flags);
    assert.equal(await starts(), 3);
  });

  test("loses its data with its claims", async () => {
    await kubectl.ok("delete sts db");
    await kubectl.ok("delete pvc --all");
    await deadline("the volumes to go", async () => {
      return (await kubectl.ok("get pv -o name")) === "" ? true : undefined;
    });
    assert.deepEqual(readdirSync(path.join(dataDir, "volumes")), []);
  });
});
