import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { readdir, readFile, stat } from "node:fs/promises";
import { after, before, suite, test } from "node:test";
import { ConfigMap } from "#api/core/config-map.ts";
import { Event } from "#api/core/event.ts";
import { Node } from "#api/core/node.ts";
import { Pod } from "#api/core/pod.ts";
import { quantityValue } from "#api/meta/quantity.ts";
import type { InputOf } from "#api/resource.ts";
import {
  shellContainer as container,
  type RealNode,
  realNodeName,
  startRealNode,
  waitForEnd as waits,
} from "#testing/real-node.ts";
import { containerdPaths } from "./containerd/paths.ts";

const scratch = { volumeMounts: [{ name: "scratch", mountPath: "/scratch" }] };
const isRunning = ({ status }: Pod) => status.containerStatuses?.[0]?.state.running !== undefined;

/** What an unprivileged pod can try against its node. */
suite("hostile pods", { timeout: 300_000 }, () => {
  let node: RealNode;
  before(async () => {
    node = await startRealNode();
  });
  after(async () => {
    await node[Symbol.asyncDispose]();
  });

  const create = (name: string, spec: InputOf<Pod>["spec"]) =>
    node.createPod(name, { terminationGracePeriodSeconds: 1, ...spec });
  const run = (name: string, command: string) => node.runIn(name, "sh", "-c", command);
  const untilEvent = async (name: string, pattern: RegExp): Promise<void> => {
    for (;;) {
      const { items } = await node.client.list(Event, { namespace: "default" });
      if (items.some(({ involvedObject, message = "" }) => involvedObject.name === name && pattern.test(message)))
        return;
      await node.runtime.version();
    }
  };

  test("pods over their storage limits are evicted with upstream's messages", async () => {
    await create("large-volume", {
      containers: [container(`dd if=/dev/zero of=/scratch/x bs=1M count=20; ${waits}`, scratch)],
      volumes: [{ name: "scratch", emptyDir: { sizeLimit: "10Mi" } }],
    });
    const limits = { "ephemeral-storage": "20Mi" };
    await create("large-root", {
      containers: [
        container(`dd if=/dev/zero of=/x bs=1M count=40; ${waits}`, { resources: { limits } }),
        container(waits, { name: "other", resources: { limits: { "ephemeral-storage": "1Gi" } } }),
      ],
    });
    await create("large-hosts", {
      containers: [container(`dd if=/dev/zero of=/etc/hosts bs=1M count=40; ${waits}`, { resources: { limits } })],
    });
    const isFailed = ({ status }: Pod) => status.phase === "Failed";

    const volume = await node.podWhen("large-volume", isFailed, 240_000);
    const root = await node.podWhen("large-root", isFailed, 240_000);
    const hosts = await node.podWhen("large-hosts", isFailed, 240_000);

    assert.equal(volume.status.reason, "Evicted");
    assert.equal(volume.status.message, 'Usage of EmptyDir volume "scratch" exceeds the limit "10Mi". ');
    assert.equal(root.status.message, 'Container main exceeded its local ephemeral storage limit "20Mi". ');
    const together = "Pod ephemeral local storage usage exceeds the total limit of containers 20Mi. ";
    assert.equal(hosts.status.message, together);
    await Promise.all(["large-volume", "large-root", "large-hosts"].map(node.removePod));
  });

  test("all pods together cannot use more than the node's allocatable memory", async () => {
    const { cgroupRoot } = containerdPaths(node.dataDir);
    const isUnified = node.containerd.host.cgroups === "v2";
    const file = isUnified
      ? `/sys/fs/cgroup${cgroupRoot}/kubepods/memory.max`
      : `/sys/fs/cgroup/memory${cgroupRoot}/kubepods/memory.limit_in_bytes`;
    const { status } = await node.client.get(Node, { name: realNodeName });

    assert.equal(Number(await readFile(file, "utf8")), quantityValue(status.allocatable?.memory ?? "0"));
  });

  test("an NFS volume cannot pass options to mount, and a FIFO does not block a file variable", async () => {
    const nfs = { server: "-T/etc/passwd", path: "/" };
    await create("nfs", { containers: [container(waits, scratch)], volumes: [{ name: "scratch", nfs }] });
    await untilEvent("nfs", /invalid NFS server "-T\/etc\/passwd": not a host name or IP address/);
    const env = [{ name: "A", valueFrom: { fileKeyRef: { volumeName: "scratch", path: "f", key: "A" } } }];
    await create("fifo", {
      initContainers: [container("mkfifo /scratch/f", { ...scratch, name: "init" })],
      containers: Array.from({ length: 8 }, (_, at) => container(waits, { name: `c${at}`, env })),
      volumes: [{ name: "scratch", emptyDir: {} }],
    });

    await untilEvent("fifo", /cannot read file "f" of a volume: not a regular file/);

    // Files can still be read, so no thread of the pool is blocked.
    assert((await readdir(node.dataDir)).length > 0);
    await Promise.all([node.removePod("nfs"), node.removePod("fifo")]);
  });

  test("a pod's files stay, a subPath follows its config map, and a deep tree is removed with the pod", async () => {
    const metadata = { namespace: "default", name: "conf" };
    await node.client.create(ConfigMap, { metadata, data: { a: "one" } });
    const volumeMounts = [
      ...scratch.volumeMounts,
      { name: "conf", mountPath: "/conf" },
      { name: "conf", mountPath: "/a", subPath: "a" },
    ];
    const deep = 'cd /scratch; n=$(printf "%0200d" 0); for i in $(seq 60); do mkdir $n && cd $n; done; touch leaf';
    const pod = await create("keeps", {
      containers: [container(`chmod 700 /scratch; (${deep}); until [ -e /end ]; do sleep 0.1; done`, { volumeMounts })],
      volumes: [
        { name: "scratch", emptyDir: {} },
        { name: "conf", configMap: { name: "conf" } },
      ],
    });
    await node.podWhen("keeps", isRunning);
    const podDir = `${node.dataDir}/kubelet/pods/${pod.metadata.uid}`;
    const modeOf = async (path: string) => (await stat(path)).mode & 0o777;
    while ((await modeOf(`${podDir}/volumes/kubernetes.io~empty-dir/scratch`)) !== 0o700) await node.runtime.version();

    await node.client.patch(ConfigMap, metadata, { type: "merge", body: { data: { a: "two" } } });
    while ((await run("keeps", "cat /conf/a")) !== "two") await node.runtime.version();
    assert.equal(await modeOf(`${podDir}/volumes/kubernetes.io~empty-dir/scratch`), 0o700);
    assert.equal(await run("keeps", "cat /a"), "one");
    await run("keeps", "touch /end");
    await node.podWhen("keeps", (seen) => isRunning(seen) && seen.status.containerStatuses?.[0]?.restartCount === 1);
    assert.equal(await run("keeps", "cat /a"), "two");

    await node.removePod("keeps");
    while (existsSync(podDir)) await node.runtime.version();
  });
});
