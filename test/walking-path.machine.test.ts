/** From `kubectl apply` to a running container behind a Service, as a user does it: real kubectl, real containers. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { getPriority } from "node:os";
import path from "node:path";
import { after, before, suite, test } from "node:test";
import { containerdPaths } from "#kubelet/containerd/paths.ts";
import { freePorts } from "#testing/peers/free-ports.ts";
import { findKubectls, Kubectl } from "./support/kubectl.ts";
import { deadline, freeRange, makeTempDir, runOrlop } from "./support/server.ts";

const root = path.resolve(import.meta.dirname, "..");
/** A port that differs from those of concurrent runs on this machine. */
const nodePort = 30000 + (process.pid % 2700);
const dataDir = makeTempDir();
const home = makeTempDir();
const kubeconfig = path.join(home, "config");
process.env.KUBECONFIG = kubeconfig;
process.env.HOME = home;
const others = "apiVersion: v1\nkind: Config\n# mine\ncontexts:\n- {name: elsewhere, context: {cluster: c, user: u}}\n";

interface PodFacts {
  readonly metadata: { readonly name: string; readonly uid: string; readonly deletionTimestamp?: string };
  readonly spec: { readonly nodeName?: string };
  readonly status: {
    readonly phase: string;
    readonly podIP?: string;
    readonly conditions?: readonly { readonly type: string; readonly status: string; readonly message?: string }[];
    readonly containerStatuses?: readonly {
      readonly restartCount: number;
      readonly ready: boolean;
      readonly containerID?: string;
      readonly state: { readonly waiting?: { readonly reason: string; readonly message?: string } };
    }[];
  };
}

let kubectl: Kubectl;
let args: string[];

before(async () => {
  writeFileSync(kubeconfig, others);
  const [port, kubeletPort] = await freePorts(2);
  const ranges = ["--cluster-cidr", freeRange(100), "--service-cidr", freeRange(160)];
  args = [
    "--data-dir",
    dataDir,
    "--port",
    `${port}`,
    "--kubelet-port",
    `${kubeletPort}`,
    "--node-name",
    "walker",
    ...ranges,
  ];
  const { code, stdout, stderr } = await runOrlop(["up", ...args]);
  assert.equal(code, 0, stderr + stdout);
  const [program] = findKubectls();
  assert(program);
  kubectl = new Kubectl({ program, kubeconfig, namespace: "default", home });
  const example = path.join(home, "web.yaml");
  writeFileSync(example, readFileSync(path.join(root, "examples/web.yaml"), "utf8").replace("30080", `${nodePort}`));
  await kubectl.ok(["apply", "-f", example]);
  await kubectl.ok("rollout status deploy/web --timeout=120s");
});

after(async () => {
  const { code, stdout, stderr } = await runOrlop(["down", "--data-dir", dataDir]);
  const isGone = !existsSync(dataDir);
  rmSync(home, { recursive: true, force: true });
  rmSync(dataDir, { recursive: true, force: true });
  assert.equal(code, 0, stderr + stdout);
  assert.match(stdout, /nothing is left/);
  assert(isGone, stdout);
});

const podsOf = async (selector: string): Promise<readonly PodFacts[]> => {
  const { items } = await kubectl.json<{ items: PodFacts[] }>(`get pods -l ${selector} -o json`);
  return items.filter(({ metadata }) => !metadata.deletionTimestamp);
};
const podOf = (name: string): Promise<PodFacts> => kubectl.json<PodFacts>(`get pod ${name} -o json`);
const isReady = ({ status }: PodFacts): boolean =>
  status.conditions?.some(({ type, status: value }) => type === "Ready" && value === "True") ?? false;
const waitForPod = (name: string, what: string, is: (pod: PodFacts) => boolean): Promise<PodFacts> =>
  deadline(`pod ${name} to be ${what}`, async () => {
    const pod = await podOf(name);
    return is(pod) ? pod : undefined;
  });
const manifest = (name: string, container: object, more: object = {}) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, labels: { test: name } },
  spec: {
    terminationGracePeriodSeconds: 1,
    containers: [{ name: "main", image: "orlop.dev/busybox:1", ...container }],
    ...more,
  },
});
const fetchText = async (url: string): Promise<string> => await (await fetch(url)).text();

suite("the walking path", () => {
  test("a second up says that the cluster is already running", async () => {
    const { code, stdout } = await runOrlop(["up", ...args]);

    assert.equal(code, 0);
    assert.match(stdout, /already running/);
  });

  test("the node has the host name that it was given, as nodes that share a machine must differ", async () => {
    const { metadata } = await kubectl.json<{ metadata: { labels: Record<string, string> } }>(
      "get node walker -o json",
    );

    assert.equal(metadata.labels["kubernetes.io/hostname"], "walker");
  });

  test("up adds its context and leaves the others alone", () => {
    const text = readFileSync(kubeconfig, "utf8");

    assert.match(text, /elsewhere/);
    assert.match(text, /# mine/);
    assert.match(text, /current-context: orlop/);
  });

  test("the Deployment's three pods run and have their mounts", async () => {
    const pods = await podsOf("app=web");

    assert.equal(pods.length, 3);
    assert(pods.every(isReady));
    const [pod] = pods;
    assert(pod);
    const out = await kubectl.ok([
      "exec",
      pod.metadata.name,
      "--",
      "sh",
      "-c",
      "cat /www/index.html /secret/password; echo; echo $POD_NAME",
    ]);
    assert.equal(out, `Hello from Orlop.\nnot-a-real-one\n${pod.metadata.name}\n`);
  });

  test("the cluster's own process has a higher priority than its children, which do not inherit it", async () => {
    const [pod] = await podsOf("app=web");
    assert(pod);
    const { pid } = JSON.parse(readFileSync(path.join(dataDir, "cluster.json"), "utf8")) as { pid: number };
    const containerd = Number(readFileSync(containerdPaths(dataDir).pidFile, "utf8"));
    const threads = readdirSync(`/proc/${containerd}/task`).map(Number);
    const inside = "cut -d ' ' -f 19 /proc/1/stat; exec cut -d ' ' -f 19 /proc/self/stat";

    const pods = await kubectl.ok(["exec", pod.metadata.name, "--", "sh", "-c", inside]);

    const mayRaise = spawnSync("nice", ["-n", "-1", "true"]).stderr.length === 0;
    const normal = mayRaise ? 0 : getPriority();
    assert.equal(getPriority(pid), mayRaise ? -7 : normal);
    assert.deepEqual([...new Set(threads.map(getPriority))], [normal]);
    assert.equal(pods, `${normal}\n${normal}\n`);
  });

  test("exec passes input and returns the exit code", async () => {
    const [pod] = await podsOf("app=web");
    assert(pod);

    const failed = await kubectl.run(["exec", pod.metadata.name, "--", "sh", "-c", "exit 3"]);
    const echoed = await kubectl.ok(["exec", "-i", pod.metadata.name, "--", "cat"], "through and back\n");

    assert.equal(failed.code, 3);
    assert.equal(echoed, "through and back\n");
  });

  test("files are copied in and out", async () => {
    const [pod] = await podsOf("app=web");
    assert(pod);
    const local = path.join(home, "copied");
    writeFileSync(local, "copied content\n");

    await kubectl.ok(["cp", local, `${pod.metadata.name}:/tmp/copied`]);
    await kubectl.ok(["cp", `${pod.metadata.name}:/tmp/copied`, `${local}-back`]);

    assert.equal(readFileSync(`${local}-back`, "utf8"), "copied content\n");
  });

  test("logs show what a container wrote, and follow it", async () => {
    await kubectl.ok(
      "apply -f -",
      manifest("talker", { command: ["sh", "-c", "for i in 1 2 3; do echo line $i; sleep 0.2; done; sleep 600"] }),
    );
    await waitForPod("talker", "ready", isReady);

    const following = kubectl.start("logs -f talker");
    await deadline("three lines", () => (following.output.stdout.split("\n").length > 3 ? true : undefined));
    following.child.kill();

    assert.equal(following.output.stdout, "line 1\nline 2\nline 3\n");
    assert.equal(await kubectl.ok("logs talker --tail=1"), "line 3\n");
    await kubectl.ok("delete pod talker");
  });

  test("a port of a pod is forwarded", async () => {
    const [pod] = await podsOf("app=web");
    assert(pod);
    const forwarding = kubectl.start(`port-forward ${pod.metadata.name} :8080`);

    const port = await deadline("the forwarded port", () => /127\.0\.0\.1:(\d+)/.exec(forwarding.output.stdout)?.[1]);

    assert.equal(await fetchText(`http://127.0.0.1:${port}/`), "Hello from Orlop.\n");
    forwarding.child.kill();
    await forwarding.ended;
  });

  test("the NodePort answers, and pods reach the Service by its name", async () => {
    const [pod] = await podsOf("app=web");
    assert(pod);

    assert.equal(await fetchText(`http://127.0.0.1:${nodePort}/`), "Hello from Orlop.\n");
    for (const name of ["web", "web.default", "web.default.svc.cluster.local"]) {
      const out = await kubectl.ok(["exec", pod.metadata.name, "--", "wget", "-q", "-O", "-", `http://${name}/`]);
      assert.equal(out, "Hello from Orlop.\n", name);
    }
  });

  test("a pod reaches the API server with its token", async () => {
    const [pod] = await podsOf("app=web");
    assert(pod);
    const read = (name: string) =>
      kubectl.ok(["exec", pod.metadata.name, "--", "cat", `/var/run/secrets/kubernetes.io/serviceaccount/${name}`]);

    const [token, ca, namespace] = await Promise.all([read("token"), read("ca.crt"), read("namespace")]);
    const dialled = await kubectl.run([
      "exec",
      pod.metadata.name,
      "--",
      "sh",
      "-c",
      "nc -w 60 kubernetes.default 443 </dev/null",
    ]);

    assert.equal(token.split(".").length, 3);
    assert.match(ca, /BEGIN CERTIFICATE/);
    assert.equal(namespace, "default");
    assert.equal(dialled.code, 0, dialled.stderr);
  });

  test("a changed config map appears in the volume", async () => {
    const [pod] = await podsOf("app=web");
    assert(pod);
    await kubectl.ok([
      "patch",
      "configmap",
      "web",
      "--type=merge",
      "-p",
      JSON.stringify({ data: { "index.html": "Changed.\n" } }),
    ]);

    await deadline("the new page", async () => {
      const page = await kubectl.ok(["exec", pod.metadata.name, "--", "cat", "/www/index.html"]);
      return page === "Changed.\n" ? true : undefined;
    });
  });

  test("the trace of the Deployment goes from the client to the proxy", async () => {
    const { code, stdout, stderr } = await runOrlop(["trace", "deploy/web"]);

    assert.equal(code, 0, stderr);
    const steps = [
      "with kubectl",
      "authenticate",
      "authorise",
      "run mutating admission",
      "validate the object",
      "commit to the store",
      "send the event",
      "deployment +reconcile",
      "replicaset +reconcile",
      "scheduler +place",
      "sandbox",
      "mount volumes",
      "create container",
      "start container",
      "pod is ready",
      "endpointslice",
      "proxy +program",
    ];
    for (const step of steps) assert.match(stdout, new RegExp(step, "i"), stdout);
  });

  test("scale, restart and undo roll out", async () => {
    await kubectl.ok("scale deploy/web --replicas=2");
    await deadline("two pods", async () => ((await podsOf("app=web")).length === 2 ? true : undefined));

    await kubectl.ok("set env deploy/web COLOUR=green");
    await kubectl.ok("rollout status deploy/web --timeout=120s");
    const [green] = await podsOf("app=web");
    assert.equal(await kubectl.ok(["exec", green?.metadata.name ?? "", "--", "sh", "-c", "echo $COLOUR"]), "green\n");
    await kubectl.ok("rollout undo deploy/web");
    await kubectl.ok("rollout status deploy/web --timeout=120s");
    const [plain] = await podsOf("app=web");

    assert.equal(await kubectl.ok(["exec", plain?.metadata.name ?? "", "--", "sh", "-c", "echo $COLOUR"]), "\n");
    await kubectl.ok("rollout restart deploy/web");
    await kubectl.ok("rollout status deploy/web --timeout=120s");
  });

  test("a deleted pod is replaced", async () => {
    const [victim] = await podsOf("app=web");
    assert(victim);

    await kubectl.ok(`delete pod ${victim.metadata.name}`);

    await deadline("a new pod", async () => {
      const pods = await podsOf("app=web");
      return pods.length === 2 &&
        pods.every(isReady) &&
        pods.every(({ metadata }) => metadata.uid !== victim.metadata.uid)
        ? true
        : undefined;
    });
  });

  test("a container that exits is restarted with growing delays", async () => {
    await kubectl.ok("apply -f -", manifest("crasher", { command: ["sh", "-c", "echo final line; exit 7"] }));

    const pod = await waitForPod("crasher", "backing off", ({ status }) => {
      const [container] = status.containerStatuses ?? [];
      return container?.state.waiting?.reason === "CrashLoopBackOff" && container.restartCount > 0;
    });

    assert.match(
      pod.status.containerStatuses?.[0]?.state.waiting?.message ?? "",
      /back-off \d+s restarting failed container=main/,
    );
    assert.equal(await kubectl.ok("logs crasher --previous"), "final line\n");
    await kubectl.ok("delete pod crasher");
  });

  test("a failing pull shows why", async () => {
    await kubectl.ok("apply -f -", manifest("imageless", { image: "127.0.0.1:1/nothing:here" }));

    await waitForPod(
      "imageless",
      "unable to pull",
      ({ status }) => status.containerStatuses?.[0]?.state.waiting?.reason === "ErrImagePull",
    );
    await waitForPod(
      "imageless",
      "backing off",
      ({ status }) => status.containerStatuses?.[0]?.state.waiting?.reason === "ImagePullBackOff",
    );

    assert.match(await kubectl.ok("describe pod imageless"), /connection refused/);
    await kubectl.ok("delete pod imageless");
  });

  test("a pod that fits on no node stays Pending and says why", async () => {
    await kubectl.ok("apply -f -", manifest("huge", { resources: { requests: { cpu: "10000" } } }));

    const pod = await waitForPod(
      "huge",
      "unschedulable",
      ({ status }) =>
        status.conditions?.some(({ type, status: value }) => type === "PodScheduled" && value === "False") ?? false,
    );

    assert.equal(pod.status.phase, "Pending");
    assert.match(
      pod.status.conditions?.find(({ type }) => type === "PodScheduled")?.message ?? "",
      /^0\/1 nodes are available: 1 Insufficient cpu\./,
    );
    await kubectl.ok("delete pod huge");
  });

  test("a failing readiness probe takes a pod out of its Service without a restart", async () => {
    const container = {
      command: ["sh", "-c", "touch /tmp/ready; exec httpd -f -p 8080 -h /tmp"],
      readinessProbe: { exec: { command: ["cat", "/tmp/ready"] }, periodSeconds: 1, failureThreshold: 1 },
    };
    await kubectl.ok("apply -f -", manifest("moody", container));
    await kubectl.ok("expose pod moody --port=80 --target-port=8080");
    await waitForPod("moody", "ready", isReady);
    const endpoints = () =>
      kubectl.ok([
        "get",
        "endpointslices",
        "-l",
        "kubernetes.io/service-name=moody",
        "-o",
        "jsonpath={.items[*].endpoints[*].conditions.ready}",
      ]);
    await deadline("the endpoint", async () => ((await endpoints()) === "true" ? true : undefined));

    await kubectl.ok("exec moody -- rm /tmp/ready");

    await deadline("the endpoint to go", async () => ((await endpoints()) === "false" ? true : undefined));
    assert.equal((await podOf("moody")).status.containerStatuses?.[0]?.restartCount, 0);
    await kubectl.ok("delete pod/moody service/moody");
  });

  test("kill -9 of Orlop leaves the containers running, and the next up adopts them", async () => {
    const before = await podsOf("app=web");
    const { pid } = JSON.parse(readFileSync(path.join(dataDir, "cluster.json"), "utf8")) as { pid: number };

    process.kill(pid, "SIGKILL");
    const { code, stderr } = await runOrlop(["up", ...args]);
    assert.equal(code, 0, stderr);
    await kubectl.ok("rollout status deploy/web --timeout=120s");

    const containers = (pods: readonly PodFacts[]) =>
      pods
        .flatMap(
          ({ status }) =>
            status.containerStatuses?.map(({ containerID, restartCount }) => [containerID, restartCount]) ?? [],
        )
        .sort();
    const now = await deadline("ready pods", async () => {
      const pods = await podsOf("app=web");
      return pods.every(isReady) ? pods : undefined;
    });
    assert.deepEqual(containers(now), containers(before));
  });

  test("deleting the Deployment deletes its pods", async () => {
    await kubectl.ok("delete deploy/web --wait=true");

    await deadline("no pods", async () => ((await podsOf("app=web")).length === 0 ? true : undefined));
    assert.equal(await kubectl.ok("get replicasets -l app=web -o name"), "");
  });
});
