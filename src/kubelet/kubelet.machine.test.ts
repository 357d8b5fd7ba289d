import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { readdir, readlink, writeFile } from "node:fs/promises";
import { after, before, suite, test } from "node:test";
import { ConfigMap } from "#api/core/config-map.ts";
import { Event } from "#api/core/event.ts";
import { Node } from "#api/core/node.ts";
import { isReady } from "#api/core/pod/pod-state.ts";
import { Pod } from "#api/core/pod.ts";
import { Secret } from "#api/core/secret.ts";
import { systemClock } from "#lib/async/clock.ts";
import { mountsUnder } from "#lib/fs/mounts.ts";
import { signalProcess } from "#lib/process/processes.ts";
import { startDevicePlugin, widgets } from "#testing/peers/device-plugin.ts";
import {
  busyboxImage,
  shellContainer as container,
  type RealNode,
  realNodeName,
  startRealNode,
  waitForEnd as waits,
} from "#testing/real-node.ts";
import { cpuWeight, openCgroups } from "./resources/cgroups.ts";

const statusOf = ({ status }: Pod, name = "main") =>
  [...(status.containerStatuses ?? []), ...(status.initContainerStatuses ?? [])].find((one) => one.name === name);
const isRunningAgain = (pod: Pod) =>
  (statusOf(pod)?.restartCount ?? 0) > 0 && statusOf(pod)?.state.running !== undefined;

suite("a kubelet with real containers", { timeout: 300_000 }, () => {
  let node: RealNode;
  before(async () => {
    node = await startRealNode();
  });
  after(async () => {
    await node[Symbol.asyncDispose]();
  });

  const logsOf = async (name: string, previous = false) => {
    const options = { follow: false, previous, timestamps: false, signal: new AbortController().signal };
    const log = await node.kubelet.handle.logs({ namespace: "default", name }, "main", options);
    return Buffer.concat(await Array.fromAsync(log)).toString();
  };

  /** Events are written beside the work. */
  const untilEvent = async (name: string, reason: string) => {
    for (;;) {
      const { items } = await node.client.list(Event, { namespace: "default" });
      if (items.some((event) => event.involvedObject.name === name && event.reason === reason)) return;
      await node.runtime.version();
    }
  };

  test("a pod has its volumes, variables, init container and probes, and follows its config map", async () => {
    const { client } = node;
    await client.create(ConfigMap, { metadata: { namespace: "default", name: "settings" }, data: { a: "one" } });
    await client.create(Secret, {
      metadata: { namespace: "default", name: "login" },
      stringData: { password: "pass" },
    });
    const env = [
      { name: "SECRET", valueFrom: { secretKeyRef: { name: "login", key: "password" } } },
      { name: "IP", valueFrom: { fieldRef: { fieldPath: "status.podIP" } } },
      { name: "BOTH", value: "$(SECRET)-$(SETTINGS_a)" },
    ];
    const mounts = [
      { name: "settings", mountPath: "/settings" },
      { name: "login", mountPath: "/login" },
      { name: "scratch", mountPath: "/scratch" },
    ];
    const serve =
      "echo $BOTH; cd /scratch; mkdir -p www; cp from-init www/; httpd -f -p 8080 -h www & trap 'exit 0' TERM; wait";
    await node.createPod("whole", {
      initContainers: [container("echo init > /scratch/from-init", { name: "init", volumeMounts: mounts })],
      containers: [
        container(serve, {
          env,
          envFrom: [{ prefix: "SETTINGS_", configMapRef: { name: "settings" } }],
          volumeMounts: mounts,
          readinessProbe: { httpGet: { path: "/from-init", port: 8080 } },
          livenessProbe: { exec: { command: ["test", "-e", "/scratch/from-init"] } },
          startupProbe: { tcpSocket: { port: 8080 }, periodSeconds: 1, failureThreshold: 30 },
          resources: { requests: { cpu: "10m" }, limits: { memory: "64Mi" } },
        }),
      ],
      volumes: [
        { name: "settings", configMap: { name: "settings" } },
        { name: "login", secret: { secretName: "login" } },
        { name: "scratch", emptyDir: {} },
      ],
    });

    const pod = await node.podWhen("whole", isReady);

    assert.deepEqual([statusOf(pod, "init")?.state.terminated?.exitCode, pod.status.qosClass], [0, "Burstable"]);
    while ((await logsOf("whole")) !== "pass-one\n") await node.runtime.version();
    assert.equal(await node.runIn("whole", "cat", "/settings/a", "/login/password"), "onepass");
    assert.match(await node.runIn("whole", "cat", "/etc/hosts"), new RegExp(`^${pod.status.podIP}\\twhole$`, "m"));
    assert.match(await node.runIn("whole", "cat", "/var/run/secrets/kubernetes.io/serviceaccount/token"), /^ey/);

    await client.patch(
      ConfigMap,
      { namespace: "default", name: "settings" },
      { type: "merge", body: { data: { a: "two" } } },
    );
    while ((await node.runIn("whole", "cat", "/settings/a")) !== "two") await node.runIn("whole", "true");

    const { uid } = pod.metadata;
    await node.removePod("whole");
    while (existsSync(`${node.dataDir}/kubelet/pods/${uid}`)) await node.runtime.version();
    assert.deepEqual(await mountsUnder([`${node.dataDir}/kubelet/pods`]), []);
  });

  test("a container that is killed is restarted, and its termination message and logs are kept", async () => {
    // Ready says that the shell handles SIGTERM, for the trap comes before the message.
    const script =
      "trap 'exit 3' TERM; echo life; echo bye > /dev/termination-log; while :; do sleep 1 & wait $!; done";
    const readinessProbe = { exec: { command: ["grep", "-q", "bye", "/dev/termination-log"] }, periodSeconds: 1 };
    await node.createPod("restarts", { containers: [container(script, { readinessProbe })] });
    await node.podWhen("restarts", isReady);
    const [found] = (await node.runtime.listContainers()).filter(({ state }) => state === "running");
    await node.runtime.stopContainer(found?.id ?? "", 60_000);

    const pod = await node.podWhen("restarts", isRunningAgain);

    const status = statusOf(pod);
    assert.equal(status?.restartCount, 1);
    const { exitCode, message } = status?.lastState.terminated ?? {};
    assert.deepEqual([exitCode, message], [3, "bye\n"]);
    assert.equal(await logsOf("restarts", true), "life\n");
    await node.removePod("restarts");
  });

  test("a liveness probe that fails restarts the container", async () => {
    const livenessProbe = { exec: { command: ["test", "-e", "/tmp/alive"] }, periodSeconds: 1, failureThreshold: 1 };
    const grace = { ...livenessProbe, initialDelaySeconds: 1, terminationGracePeriodSeconds: 1 };
    await node.createPod("sick", { containers: [container(waits, { livenessProbe: grace })] });

    await node.podWhen("sick", isRunningAgain);

    for (const reason of ["Unhealthy", "Killing"]) await untilEvent("sick", reason);
    await node.removePod("sick");
  });

  test("a restarted kubelet takes over running containers", async () => {
    await node.createPod("survivor", { containers: [container(waits)] });
    const first = await node.podWhen("survivor", isReady);

    await node.restartKubelet();
    await node.client.patch(Pod, first, { type: "merge", body: { metadata: { labels: { seen: "yes" } } } });
    const again = await node.podWhen("survivor", (pod) => pod.metadata.labels?.seen === "yes");

    assert.deepEqual(statusOf(again), statusOf(first));
    await node.removePod("survivor");
  });

  test("a container has the user, the volume subpaths and the sysctls that it requests", async () => {
    const volumeMounts = [
      { name: "scratch", mountPath: "/part", subPathExpr: "of/$(NAME)" },
      { name: "scratch", mountPath: "/all" },
      { name: "memory", mountPath: "/memory", readOnly: true },
    ];
    const script =
      "exec 2>&1; id -u; id -G; touch /part/x; ls /all/of; cat /proc/sys/net/ipv4/ip_unprivileged_port_start; touch /memory/y";
    await node.createPod("rights", {
      restartPolicy: "Never",
      securityContext: {
        runAsUser: 1000,
        runAsGroup: 2000,
        fsGroup: 3000,
        sysctls: [{ name: "net.ipv4.ip_unprivileged_port_start", value: "77" }],
      },
      containers: [container(script, { volumeMounts, env: [{ name: "NAME", value: "mine" }] })],
      volumes: [
        { name: "scratch", emptyDir: {} },
        { name: "memory", emptyDir: { medium: "Memory" } },
      ],
    });

    const pod = await node.podWhen("rights", ({ status }) => status.phase === "Failed");

    assert.equal(statusOf(pod)?.state.terminated?.exitCode, 1, JSON.stringify(pod.status));
    const [user, groups, part, port, refused] = (await logsOf("rights")).trim().split("\n");
    assert.deepEqual([user, groups, part, port], ["1000", "2000 3000", "mine", "77"]);
    assert.match(refused ?? "", /Read-only file system/);
    await node.removePod("rights");
  });

  test("a pod can use the node's network and process namespaces", async () => {
    await node.createPod("of-node", { hostNetwork: true, hostPID: true, containers: [container(waits)] });

    const pod = await node.podWhen("of-node", isReady);

    assert.equal(pod.status.podIP, pod.status.hostIP);
    const namespace = await node.runIn("of-node", "readlink", "/proc/self/ns/pid");
    assert.equal(namespace.trim(), await readlink("/proc/self/ns/pid"));
    const header = await node.runIn("of-node", "head", "-1", "/etc/hosts");
    assert.equal(header, "# Kubernetes-managed hosts file (host network).\n");
    await node.removePod("of-node");
  });

  test("a pod reads the files of an image volume, which is unmounted afterwards", async () => {
    const volumeMounts = [
      { name: "tools", mountPath: "/tools" },
      { name: "tools", mountPath: "/only-bin", subPath: "bin" },
    ];
    const volumes = [{ name: "tools", image: { reference: busyboxImage, pullPolicy: "Never" as const } }];
    await node.createPod("with-image", { containers: [container(waits, { volumeMounts })], volumes });

    const pod = await node.podWhen("with-image", isReady);

    assert.equal(
      await node.runIn("with-image", "/only-bin/busybox", "ls", "/tools/bin/busybox"),
      "/tools/bin/busybox\n",
    );
    const write = await node.runIn("with-image", "sh", "-c", "touch /tools/x 2>/dev/null || echo refused");
    assert.equal(write, "refused\n");
    await node.removePod("with-image");
    while (existsSync(`${node.dataDir}/kubelet/pods/${pod.metadata.uid}`)) await node.runtime.version();
    assert.deepEqual(await mountsUnder([`${node.dataDir}/kubelet/pods/${pod.metadata.uid}`]), []);
  });

  test("a pod keeps the device of a plugin when the kubelet restarts", async () => {
    const dir = `${node.dataDir}/kubelet/device-plugins`;
    const devices = [{ id: "w1", health: "Healthy" as const }];
    const resources = { limits: { [widgets]: "1" } };
    const offered = async () => (await node.client.get(Node, { name: realNodeName })).status.allocatable?.[widgets];
    {
      await using _plugin = await startDevicePlugin(dir, devices);
      while ((await offered()) !== "1") await node.runtime.version();
      await node.createPod("has-device", { containers: [container(waits, { resources })] });
      await node.podWhen("has-device", isReady);
      await node.restartKubelet();
    }
    await using _again = await startDevicePlugin(dir, devices);
    while ((await offered()) !== "1") await node.runtime.version();
    await node.createPod("too-late", { containers: [container(waits, { resources })] });

    const refused = await node.podWhen("too-late", ({ status }) => status.phase === "Failed");

    const left = `requested number of devices unavailable for ${widgets}. Requested: 1, Available: 0`;
    assert.deepEqual(
      [refused.status.reason, refused.status.message],
      ["UnexpectedAdmissionError", `Pod was rejected: Allocate failed due to ${left}, which is unexpected`],
    );
    const inside = await node.runIn("has-device", "sh", "-c", "test -c /dev/widget && echo $WIDGETS");
    assert.equal(inside, "w1\n");
    await Promise.all([node.removePod("has-device"), node.removePod("too-late")]);
  });

  test("a running container is resized", async () => {
    const resources = { requests: { cpu: "100m", memory: "32Mi" }, limits: { cpu: "200m", memory: "64Mi" } };
    await node.createPod("grows", { containers: [container(waits, { resources })] });
    const before = await node.podWhen("grows", isReady);
    const group = `${node.containerd.paths.cgroupRoot}/kubepods/burstable/pod${before.metadata.uid}`;
    const groups = openCgroups(node.containerd.host.cgroups, systemClock);
    const classes = await groups.sharesBelow(`${node.containerd.paths.cgroupRoot}/kubepods`);
    assert(cpuWeight(classes.get("burstable") ?? 0) >= cpuWeight(102), "its request counts among the classes of pods");

    const limits = { cpu: "500m", memory: "96Mi" };
    const body = { spec: { containers: [{ name: "main", resources: { limits } }] } };
    await node.client.patch(Pod, before, { type: "strategic", body }, { subresource: "resize" });
    const isResized = (pod: Pod) =>
      statusOf(pod)?.resources?.limits?.cpu === "500m" &&
      !pod.status.conditions?.some(({ type }) => type.startsWith("PodResize"));
    const resized = await node.podWhen("grows", isResized);

    assert.deepEqual([statusOf(resized)?.restartCount, resized.status.observedGeneration], [0, 2]);
    assert.deepEqual(statusOf(resized)?.resources?.limits, limits);
    const inside = "cat /sys/fs/cgroup/memory/memory.limit_in_bytes /sys/fs/cgroup/memory.max 2>/dev/null; true";
    assert.equal((await node.runIn("grows", "sh", "-c", inside)).trim(), String(96 << 20));
    assert((await groups.usage(group)) !== undefined);
    await node.removePod("grows");
  });

  test("pods survive the death of containerd, and an exit that it missed is noticed", async () => {
    const spec = { containers: [container(waits)] };
    await node.createPod("stays", spec);
    const volumeMounts = [{ name: "orders", mountPath: "/orders" }];
    const { metadata } = await node.createPod("ends", {
      restartPolicy: "Never",
      containers: [container("until [ -e /orders/end ]; do sleep 0.1; done; exit 5", { volumeMounts })],
      volumes: [{ name: "orders", emptyDir: {} }],
    });
    await Promise.all([node.podWhen("stays", isReady), node.podWhen("ends", isReady)]);

    signalProcess(node.containerd.pid(), "SIGKILL");
    await writeFile(`${node.dataDir}/kubelet/pods/${metadata.uid}/volumes/kubernetes.io~empty-dir/orders/end`, "");
    await node.createPod("later", spec);
    const [, ended] = await Promise.all([
      node.podWhen("later", isReady),
      node.podWhen("ends", ({ status }) => status.phase === "Failed"),
    ]);

    assert.equal(statusOf(ended)?.state.terminated?.exitCode, 5);
    const stays = await node.podWhen("stays", isReady);
    assert.equal(statusOf(stays)?.restartCount, 0);
    await Promise.all(["stays", "ends", "later"].map(node.removePod));
  });

  test("the status says how a pod failed and why an image is missing", async () => {
    const fails = container("echo wrong; exit 4", { terminationMessagePolicy: "FallbackToLogsOnError" });
    await node.createPod("fails", { restartPolicy: "Never", containers: [fails] });
    await node.createPod("no-image", {
      containers: [{ name: "main", image: "orlop.test/none:1", imagePullPolicy: "Never" }],
    });

    const failed = await node.podWhen("fails", ({ status }) => status.phase === "Failed");
    const waiting = await node.podWhen(
      "no-image",
      (pod) => statusOf(pod)?.state.waiting?.reason === "ErrImageNeverPull",
    );

    const { exitCode, message, reason } = statusOf(failed)?.state.terminated ?? {};
    assert.deepEqual([exitCode, message, reason], [4, "wrong\n", "Error"]);
    assert.equal(
      statusOf(waiting)?.state.waiting?.message,
      'Container image "orlop.test/none:1" is not present with pull policy of Never',
    );
    await Promise.all([node.removePod("fails"), node.removePod("no-image")]);
    const { uid } = failed.metadata;
    while ((await readdir(`${node.dataDir}/kubelet/logs`)).some((dir) => dir.endsWith(`_${uid}`)))
      await node.runtime.version();
  });
});
