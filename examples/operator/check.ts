/**
 * Runs an operator for Shops and checks what it does: `npx orlop run examples/operator/check.ts -- COMMAND…`. The cluster is
 * the one of `KUBECONFIG`, or else a simulated one of its own. `IMAGE` is what the shops run; it needs `sleep`.
 */
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";

const [command = "", ...args] = process.argv.slice(process.argv.indexOf("--") + 1);
await using cluster = process.env.KUBECONFIG ? undefined : await ownCluster();
const KUBECONFIG = process.env.KUBECONFIG ?? (await cluster?.listen())?.kubeconfigFile ?? "";
const env = { ...process.env, KUBECONFIG };
const image = process.env.IMAGE ?? "orlop.dev/busybox:1";

const kubectl = async (...words: string[]): Promise<string> =>
  (await promisify(execFile)("kubectl", words, { env })).stdout.trim();

async function ownCluster() {
  const { startCluster } = await import("orlop/testing");
  return await startCluster({ nodes: 2 });
}

/** Asks until the answer is as expected. */
async function eventually(expected: string, ask: () => Promise<string>): Promise<void> {
  let answer = "";
  for (let tries = 0; tries < 120; tries++) {
    assert.equal(operator.exitCode, null, "the operator has ended");
    answer = await ask();
    if (answer === expected) return;
    await sleep(500);
  }
  assert.equal(answer, expected);
}

const shop = (size: number): string =>
  JSON.stringify({ apiVersion: "example.com/v1", kind: "Shop", metadata: { name: "corner" }, spec: { image, size } });

async function apply(text: string): Promise<void> {
  const child = spawn("kubectl", ["apply", "-f", "-"], { env, stdio: ["pipe", "ignore", "inherit"] });
  child.stdin.end(text);
  const code = await new Promise((resolve) => child.once("exit", resolve));
  assert.equal(code, 0);
}

await kubectl("apply", "-f", path.join(import.meta.dirname, "crd.yaml"));
await kubectl("wait", "--for=condition=Established", "crd/shops.example.com");
const operator = spawn(command, args, { env, stdio: "inherit" });
try {
  await apply(shop(2));
  await eventually("2", () => kubectl("get", "shop", "corner", "-o", "jsonpath={.status.ready}"));
  await apply(shop(3));
  await eventually("3", () => kubectl("get", "shop", "corner", "-o", "jsonpath={.status.ready}"));
  assert.equal(await kubectl("get", "deployment", "corner", "-o", "jsonpath={.spec.replicas}"), "3");
  await kubectl("delete", "shop", "corner");
  await eventually("", () => kubectl("get", "pods", "-l", "shop=corner", "-o", "name"));
  console.log(`${command}: a shop opened, grew and closed`);
} finally {
  operator.kill();
}
