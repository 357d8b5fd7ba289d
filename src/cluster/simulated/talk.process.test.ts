import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { suite, test } from "node:test";
import { promisify } from "node:util";
import { Pod } from "#api/core/pod.ts";
import { startCluster } from "#testing/start-cluster.ts";

const run = promisify(execFile);

/** A cluster that kubectl reaches, with a pod that listens on port 80. */
async function aCluster(annotations: Record<string, string> = {}) {
  const cluster = await startCluster({
    nodes: 1,
    simulation: {
      pods: [
        {
          labels: { app: "web" },
          logs: ["listening", { text: "careful", stream: "stderr" }, { text: "later", afterMs: 3_600_000 }],
          exec: [
            { command: ["cat", "/etc/hostname"], stdout: "web\n" },
            { command: ["false"], stderr: "no\n", exitCode: 3 },
          ],
          ports: [{ port: 80, body: "served\n" }],
        },
      ],
      hooks: {
        async exec(_, command, { stdin, write }) {
          if (command[0] !== "tr") return undefined;
          await write("stdout", "> ");
          let text = "";
          for await (const chunk of stdin) text += Buffer.from(chunk).toString();
          return { stdout: text.toUpperCase() };
        },
      },
    },
  });
  const spec = { containers: [{ name: "web", image: "web:1", ports: [{ containerPort: 80 }] }] };
  await cluster.apply(Pod, {
    metadata: { namespace: "default", name: "web", labels: { app: "web" }, annotations },
    spec,
  });
  await cluster.settle();
  const { kubeconfigFile } = await cluster.listen();
  const kubectl = (...args: string[]) => run("kubectl", ["--kubeconfig", kubeconfigFile, ...args], { timeout: 20_000 });
  return { cluster, kubectl, kubeconfigFile, [Symbol.asyncDispose]: () => cluster[Symbol.asyncDispose]() };
}

suite("kubectl talks to a simulated pod:", () => {
  test("logs and commands", async () => {
    await using parts = await aCluster();
    const { kubectl } = parts;

    const [logs, answer, failed, unknown, spdy] = await Promise.allSettled([
      kubectl("logs", "web", "--tail=1"),
      kubectl("exec", "web", "--", "cat", "/etc/hostname"),
      kubectl("exec", "web", "--", "false"),
      kubectl("exec", "web", "--", "ls"),
      run("sh", ["-c", `echo hi | kubectl --kubeconfig "$1" exec -i web -- tr`, "sh", parts.kubeconfigFile], {
        env: { ...process.env, KUBECTL_REMOTE_COMMAND_WEBSOCKETS: "false" },
        timeout: 20_000,
      }),
    ]);

    assert.equal(logs.status === "fulfilled" && logs.value.stdout, "careful\n");
    assert.equal(answer.status === "fulfilled" && answer.value.stdout, "web\n");
    assert.equal(spdy.status === "fulfilled" && spdy.value.stdout, "> HI\n");
    assert(failed.status === "rejected" && unknown.status === "rejected");
    assert.equal(failed.reason.code, 3);
    assert.match(failed.reason.stderr, /^no\ncommand terminated with exit code 3/);
    assert.equal(unknown.reason.code, 126);
    assert.match(unknown.reason.stderr, /is simulated, and nothing says what this command prints/);
  });

  test("forwarded ports, with its web server and with one at which nothing listens", async () => {
    await using parts = await aCluster();
    const forward = spawn("kubectl", ["--kubeconfig", parts.kubeconfigFile, "port-forward", "web", ":80", ":81"]);
    using _ = { [Symbol.dispose]: () => void forward.kill() };
    const ports: string[] = [];
    for await (const line of createInterface(forward.stdout)) {
      const port = /127\.0\.0\.1:(\d+)/.exec(line)?.[1];
      if (port) ports.push(port);
      if (ports.length === 2) break;
    }

    assert.equal(await (await fetch(`http://127.0.0.1:${ports[0]}/`)).text(), "served\n");
    assert.equal(await (await fetch(`http://127.0.0.1:${ports[0]}/again`)).text(), "served\n");
    await assert.rejects(fetch(`http://127.0.0.1:${ports[1]}/`));
  });
});

suite("clients of a cluster in the process", () => {
  const base = "/api/v1/namespaces/default/pods";

  test("read logs on virtual time, and reach the ports of pods", async () => {
    await using parts = await aCluster();
    const { client, clock } = parts.cluster;
    const text = async (path: string) => Buffer.from((await client.raw("GET", path)).body).toString();

    assert.equal(await text(`${base}/web/log?stream=Stderr`), "careful\n");
    await clock.advance(3_600_000);
    assert.equal(await text(`${base}/web/log?tailLines=1`), "later\n");
    assert.equal(await text(`${base}/web:80/proxy/`), "served\n");
    assert.match(await text(`${base}/web:81/proxy/`), /nothing listens on port 81/);
    assert.equal(await text("/api/v1/nodes/node-1/proxy/healthz"), "ok");
  });

  test("are told that the kubelet is stopped", async () => {
    await using parts = await aCluster();
    const { cluster } = parts;
    await cluster.nodes[0]?.stop();

    const { body } = await cluster.client.raw("GET", `${base}/web/log`);
    assert.match(Buffer.from(body).toString(), /the kubelet of node-1 is stopped/);
  });
});

test("annotations decide what a pod does, and a wrong one keeps it from starting", async () => {
  const prefix = "simulated.orlop.dev";
  await using parts = await aCluster({ [`${prefix}/logs`]: "one\ntwo", [`${prefix}/probes`]: "fail" });
  const { cluster } = parts;
  const spec = { containers: [{ name: "web", image: "web:1" }] };
  const wrong = { "exit-after-ms": "soon", lag: "1", "exec-exit-code": "-1", cpu: "much" };
  for (const [name, value] of Object.entries(wrong)) {
    const metadata = { namespace: "default", name, annotations: { [`${prefix}/${name}`]: value } };
    await cluster.apply(Pod, { metadata, spec });
  }
  await cluster.clock.advance(10_000);

  const log = await cluster.client.raw("GET", "/api/v1/namespaces/default/pods/web/log");
  assert.equal(Buffer.from(log.body).toString(), "one\ntwo\n");
  for (const name of Object.keys(wrong)) {
    const events = await cluster.events(`pod/${name}`);
    const failed = events.find(({ reason }) => reason === "FailedCreatePodSandBox");
    assert.match(failed?.message ?? "", new RegExp(`simulated.orlop.dev/${name}`), name);
  }
});

test("rules about pods are checked", async () => {
  const wrong: readonly [unknown, RegExp][] = [
    [{ pod: "web" }, /pods\[0\] has no field "pod"/],
    [{ exec: [{ exitCode: 256 }] }, /pods\[0\]\.exec\[0\]\.exitCode must be a whole number from 0 to 255/],
    [{ logs: [{ afterMs: 3 }] }, /logs\[0\]\.text must be a string/],
    [{ usage: { cpu: "much" } }, /usage\.cpu/],
    [{ ports: [{ target: { host: "127.0.0.1" } }] }, /target\.port must be a whole number/],
    [{ probes: true }, /probes must be one of succeed, fail/],
  ];
  for (const [rule, message] of wrong) {
    await assert.rejects(startCluster({ nodes: 1, simulation: { pods: [rule as object] } }), message);
  }
});
