import assert from "node:assert/strict";
import {
  chmod,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  rm,
  stat,
  statfs,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { afterEach, beforeEach, suite, test } from "node:test";
import type { ConfigMap } from "#api/core/config-map.ts";
import type { Pod } from "#api/core/pod.ts";
import type { Secret } from "#api/core/secret.ts";
import type { Volume } from "#api/core/volume/volume.ts";
import { systemClock } from "#lib/async/clock.ts";
import { mountsUnder } from "#lib/fs/mounts.ts";
import { volumeExcess } from "./mount-count.ts";
import { nfsSource } from "./nfs.ts";
import type { ClaimedVolume } from "./plugin.ts";
import { bindSubPath } from "./sub-path.ts";
import { createVolumePlugins, type PodContext, refreshVolume, removePodDirs, setUpVolume } from "./volumes.ts";
import { writeAtomically } from "./written/atomic-writer.ts";
import { writeBudgets } from "./written/write-budget.ts";

const base64 = (text: string) => Buffer.from(text).toString("base64");
const file = (text: string, mode = 0o644) => ({ content: { text, encoding: "utf8" as const }, mode });
const modeOf = async (path: string) => (await stat(path)).mode & 0o7777;

suite("volumes", { timeout: 300_000 }, () => {
  let dir: string;
  let context: PodContext;
  const configMaps = new Map<string, Partial<ConfigMap>>();
  const claims = new Map<string, ClaimedVolume>();
  const secrets = new Map<string, Partial<Secret>>();
  const mounted = (volume: object) => setUpVolume(createVolumePlugins(), context, { name: "v", ...volume } as Volume);
  const refreshed = (volume: object) =>
    refreshVolume(createVolumePlugins(), context, { name: "v", ...volume } as Volume);
  const withPod = (pod: object) => {
    context = { ...context, pod: { ...context.pod, ...pod } as Pod };
  };

  beforeEach(async () => {
    dir = await mkdtemp(`${tmpdir()}/orlop-volumes-`);
    configMaps.clear();
    secrets.clear();
    context = {
      pod: aPod,
      podDir: `${dir}/pod`,
      podMemoryDir: `${dir}/memory`,
      node: { allocatable: { cpu: "2", memory: "8Gi" } },
      clock: systemClock,
      budgets: writeBudgets({ memoryBytes: 2 ** 33, pods: 110 }),
      sources: {
        configMap: async (_namespace, name) => configMaps.get(name) as ConfigMap | undefined,
        secret: async (_namespace, name) => secrets.get(name) as Secret | undefined,
        serviceAccountToken: async (_pod, { audience }) => `token for ${audience}`,
        trustBundle: async () => undefined,
        claimedVolume: async (_pod, claim) => {
          const claimed = claims.get(claim);
          assert(claimed, `no claim ${claim}`);
          return claimed;
        },
        podCertificate: async () => ({ key: "key", chain: "chain" }),
      },
    };
  });
  afterEach(() => removePodDirs([dir]));

  test("a config map is shown as links through ..data, and an update swaps only that link", async () => {
    configMaps.set("c", { data: { a: "1", b: "2" }, binaryData: { bin: base64("\0\xff") } });
    const volume = { configMap: { name: "c", defaultMode: 0o640 } };
    const { path, readOnly } = await mounted(volume);
    const first = await readlink(`${path}/..data`);

    assert.equal(path, `${dir}/pod/volumes/kubernetes.io~configmap/v`);
    assert(readOnly);
    assert.deepEqual((await readdir(path)).toSorted(), ["..data", first, "a", "b", "bin"].toSorted());
    assert.match(first, /^\.\.\d{4}(_\d\d){5}\.\w+$/);
    assert.equal(await readlink(`${path}/a`), "..data/a");
    assert.equal(await modeOf(`${path}/a`), 0o640);

    await refreshed(volume);
    assert.equal(await readlink(`${path}/..data`), first);

    configMaps.set("c", { data: { a: "new", c: "3" } });
    await refreshed(volume);
    const second = await readlink(`${path}/..data`);
    assert.notEqual(second, first);
    assert.deepEqual((await readdir(path)).toSorted(), ["..data", second, "a", "c"].toSorted());
    assert.equal(await readFile(`${path}/a`, "utf8"), "new");
  });

  test("items choose keys, paths and modes", async () => {
    secrets.set("s", { data: { user: base64("u"), password: base64("p") } });
    const items = [{ key: "password", path: "deep/er/pw", mode: 0o400 }];

    const { path } = await mounted({ secret: { secretName: "s", items, defaultMode: 0o644 } });

    assert(path.startsWith(context.podMemoryDir));
    assert.equal(await readFile(`${path}/deep/er/pw`, "utf8"), "p");
    assert.equal(await modeOf(`${path}/deep/er/pw`), 0o400);
    assert.equal(await readlink(`${path}/deep`), "..data/deep");
  });

  test("a missing source is an error, unless it is optional", async () => {
    configMaps.set("c", { data: {} });
    const items = [{ key: "k", path: "k" }];
    const failed = (why: string) => ({ message: `MountVolume.SetUp failed for volume "v" : ${why}` });

    await assert.rejects(mounted({ configMap: { name: "x", defaultMode: 0 } }), failed('configmap "x" not found'));
    await assert.rejects(mounted({ secret: { secretName: "x", defaultMode: 0 } }), failed('secret "x" not found'));
    await assert.rejects(
      mounted({ configMap: { name: "c", items, defaultMode: 0 } }),
      failed("configmap references non-existent config key: k"),
    );
    for (const name of ["x", "c"]) await mounted({ configMap: { name, items, optional: true, defaultMode: 0 } });
    await assert.rejects(mounted({ rbd: { monitors: [], image: "" } }), failed("no volume plugin matched"));
  });

  test("the downward API shows fields of the pod", async () => {
    const show = (path: string, fieldPath: string) => ({ path, fieldRef: { apiVersion: "v1", fieldPath } });
    const amount = (path: string, resource: string, divisor = "0") => ({
      path,
      resourceFieldRef: { containerName: "web", resource, divisor },
    });
    const items = [
      show("name", "metadata.name"),
      show("labels", "metadata.labels"),
      show("one", "metadata.annotations['a/b']"),
      amount("cpu", "limits.cpu", "1m"),
      amount("cores", "limits.cpu"),
      amount("memory", "requests.memory", "1Mi"),
      amount("unlimited", "limits.memory", "1Gi"),
    ];

    const { path } = await mounted({ downwardAPI: { items, defaultMode: 0o644 } });

    const read = (name: string) => readFile(`${path}/${name}`, "utf8");
    assert.equal(await read("name"), "pod");
    assert.equal(await read("labels"), 'app="web"\ntext="say \\"hi\\"\\n\\u00ad é"');
    assert.equal(await read("one"), "annotated");
    assert.deepEqual(await Promise.all(["cpu", "cores", "memory", "unlimited"].map(read)), ["250", "1", "64", "8"]);
  });

  test("a projected volume combines its sources, and only the pod's user can read a token", async () => {
    configMaps.set("ca", { data: { "ca.crt": "CA" } });
    withPod({ spec: { ...aPod.spec, securityContext: { runAsUser: 1234, fsGroup: 77 } } });
    const sources = [
      { configMap: { name: "ca" } },
      { serviceAccountToken: { path: "token", audience: "api", expirationSeconds: 600 } },
      {
        downwardAPI: {
          items: [{ path: "namespace", fieldRef: { apiVersion: "v1", fieldPath: "metadata.namespace" } }],
        },
      },
    ];

    const { path } = await mounted({ projected: { sources, defaultMode: 0o644 } });

    assert.equal(await readFile(`${path}/token`, "utf8"), "token for api");
    assert.equal(await readFile(`${path}/namespace`, "utf8"), "default");
    const token = await stat(`${path}/token`);
    assert.deepEqual([token.uid, token.gid, token.mode & 0o777], [1234, 77, 0o640]);
    assert.equal(await modeOf(`${path}/ca.crt`), 0o644);
  });

  test("an empty directory is writable by all, or by the pod's group", async () => {
    const { path, readOnly } = await mounted({ emptyDir: {} });
    assert.equal(await modeOf(path), 0o777);
    assert(!readOnly);

    withPod({ spec: { ...aPod.spec, securityContext: { fsGroup: 77 } } });
    const group = await mounted({ name: "g", emptyDir: {} });
    assert.deepEqual([(await stat(group.path)).gid, await modeOf(group.path)], [77, 0o2777]);
    const memory = await mounted({ name: "m", emptyDir: { medium: "Memory" } });
    assert.deepEqual([(await stat(memory.path)).gid, await modeOf(memory.path)], [77, 0o2777]);
  });

  test("a volume is set up once: a refresh, or the next kubelet, leaves the pod's files as they are", async () => {
    configMaps.set("c", { data: { a: "1" } });
    withPod({ spec: { ...aPod.spec, securityContext: { fsGroup: 77 } } });
    await mkdir(`${dir}/disk`);
    claims.set("c", { name: "pv", spec: { local: { path: `${dir}/disk` } } });
    const volumes = [
      { name: "e", emptyDir: {} },
      { name: "m", emptyDir: { medium: "Memory" } },
      { name: "l", persistentVolumeClaim: { claimName: "c" } },
      { name: "f", configMap: { name: "c", defaultMode: 0o644 } },
    ];
    const paths: string[] = [];
    for (const volume of volumes) paths.push((await mounted(volume)).path);
    for (const path of paths.slice(0, 3)) {
      await writeFile(`${path}/secret`, "", { mode: 0o600 });
      await chmod(path, 0o700);
    }

    configMaps.set("c", { data: { a: "2" } });
    for (const volume of volumes) await refreshed(volume);
    for (const volume of volumes) await mounted(volume);

    for (const path of paths.slice(0, 3)) {
      assert.deepEqual([await modeOf(path), await modeOf(`${path}/secret`)], [0o700, 0o600]);
    }
    assert.equal(await readFile(`${paths[3]}/a`, "utf8"), "2");
    assert.equal((await stat(`${paths[3]}/a`)).gid, 77);
  });

  test("content in memory is written again after a reboot", async () => {
    secrets.set("s", { data: { a: base64("1") } });
    const volume = { secret: { secretName: "s", defaultMode: 0o644 } };
    const { path } = await mounted(volume);
    await rm(context.podMemoryDir, { recursive: true });

    await mounted(volume);

    assert.equal(await readFile(`${path}/a`, "utf8"), "1");
    assert.equal(await modeOf(path), 0o777);
  });

  test("an empty directory in memory is a tmpfs of its size, and is removed with the pod", async () => {
    const { path } = await mounted({ emptyDir: { medium: "Memory", sizeLimit: "1Mi" } });
    await mounted({ emptyDir: { medium: "Memory", sizeLimit: "1Mi" } });

    const { blocks, bsize } = await statfs(path);
    assert.equal(blocks * bsize, 1 << 20);
    assert.equal(await modeOf(path), 0o777);
    assert.deepEqual(await mountsUnder([dir]), [path]);
    await assert.rejects(writeFile(`${path}/large`, Buffer.alloc(2 << 20)), { code: "ENOSPC" });

    await removePodDirs([context.podDir]);
    assert.deepEqual(await mountsUnder([dir]), []);
  });

  test("host paths are checked and created according to their type", async () => {
    const at = (name: string, type: string) => mounted({ hostPath: { path: `${dir}/${name}`, type } });

    await at("nothing", "");
    await assert.rejects(stat(`${dir}/nothing`));
    await at("made/deep", "DirectoryOrCreate");
    assert.equal(await modeOf(`${dir}/made/deep`), 0o755);
    await at("made/file", "FileOrCreate");
    await at("made/file", "File");
    for (const [type, called] of [
      ["Directory", "directory"],
      ["Socket", "socket file"],
      ["CharDevice", "character device"],
      ["BlockDevice", "block device"],
    ] as const) {
      await assert.rejects(at("made/file", type), new RegExp(`check failed: ${dir}/made/file is not a ${called}`));
    }
    await mounted({ hostPath: { path: "/dev/null", type: "CharDevice" } });
    await assert.rejects(mounted({ hostPath: { path: "/tmp/../etc", type: "" } }), /must not contain '\.\.'/);
  });

  for (const server of ["-T/proc/self/fd/3", "--help", "a b", "host,exec", "x/../y", "[::1", "ho\0st", "$(id)"]) {
    test(`an NFS server called ${JSON.stringify(server)} does not reach the mount program`, async () => {
      await assert.rejects(mounted({ nfs: { server, path: "/export" } }), /invalid NFS server .* not a host name/);
      await assert.rejects(readdir(`${dir}/pod/volumes/kubernetes.io~nfs/v`), { code: "ENOENT" });
    });
  }

  test("nfsSource() accepts names and addresses, and keeps paths unchanged", () => {
    assert.equal(nfsSource("127.0.0.1", "/-x"), "127.0.0.1:/-x");
    assert.equal(nfsSource("fe80::1", "/a b"), "[fe80::1]:/a b");
    assert.equal(nfsSource("[::1]", "/"), "[::1]:/");
    assert.equal(nfsSource("nfs-1.example", "/x"), "nfs-1.example:/x");
    assert.throws(() => nfsSource("h", "relative"), /invalid NFS path/);
  });

  test("a claim mounts the volume to which it is bound", async () => {
    const claim = (claimName: string) => mounted({ persistentVolumeClaim: { claimName } });
    await mkdir(`${dir}/disk`);
    claims.set("c", { name: "pv", spec: { local: { path: `${dir}/disk` } } });
    claims.set("pod-v", { name: "pv2", spec: { hostPath: { path: `${dir}/host`, type: "DirectoryOrCreate" } } });
    withPod({ spec: { ...aPod.spec, securityContext: { fsGroup: 77 } } });

    assert.deepEqual(await claim("c"), { path: `${dir}/disk`, readOnly: false });
    assert.equal((await stat(`${dir}/disk`)).gid, 77);
    const own = { ephemeral: { volumeClaimTemplate: { spec: {} } } };
    assert.deepEqual(await mounted(own), { path: `${dir}/host`, readOnly: false });
    assert.equal((await stat(`${dir}/host`)).gid, 0);
    claims.set("device", { name: "pv", spec: { volumeMode: "Block", local: { path: "/dev/null" } } });
    await assert.rejects(claim("device"), /\/dev\/null is not a block device/);
    claims.set("device", { name: "pv", spec: { volumeMode: "Block", hostPath: { path: "/dev/null", type: "" } } });
    await assert.rejects(claim("device"), /only local and CSI volumes can be block devices/);
    claims.set("gone", { name: "pv", spec: { local: { path: `${dir}/nowhere` } } });
    await assert.rejects(claim("gone"), /ENOENT/);
    claims.set("odd", { name: "pv", spec: {} });
    await assert.rejects(claim("odd"), /no volume plugin matched/);
  });

  test("mount points for volumes inside a volume exist", async () => {
    configMaps.set("c", { data: { a: "1" } });
    const volumeMounts = [
      { name: "v", mountPath: "/etc/app" },
      { name: "other", mountPath: "/etc/app/certs/deep" },
    ];
    withPod({ spec: { ...aPod.spec, containers: [{ ...aPod.spec.containers[0], volumeMounts }] } });

    const { path } = await mounted({ configMap: { name: "c", defaultMode: 0o644 } });
    await mounted({ configMap: { name: "c", defaultMode: 0o644 } });

    assert((await stat(`${path}/certs/deep`)).isDirectory());
  });

  test("the next write clears what a crash at any step left", async () => {
    const path = `${dir}/crashed`;
    await mkdir(path);
    await writeAtomically(path, new Map([["a", file("1")]]), { nowMs: 0 });
    await mkdir(`${path}/..2020_01_01_00_00_00.halfway`);
    await symlink("..nowhere", `${path}/..data_tmp`);
    await rm(`${path}/a`);

    await writeAtomically(path, new Map([["a", file("1")]]), { nowMs: 0 });

    const current = await readlink(`${path}/..data`);
    assert.deepEqual((await readdir(path)).toSorted(), ["..data", current, "a"].toSorted());
  });

  test("a path is normalised before it is written", async () => {
    configMaps.set("c", { data: { k: "1" } });
    const items = [{ key: "k", path: "./conf//a.txt" }];

    const { path } = await mounted({ configMap: { name: "c", items, defaultMode: 0o644 } });

    assert.equal(await readFile(`${path}/conf/a.txt`, "utf8"), "1");
    assert.equal(await readlink(`${path}/conf`), "..data/conf");
  });

  for (const medium of ["Foo", "memory", "HugePages-2Mi,size=1G", "HugePages-", "HugePages-2M", "HugePages"]) {
    test(`an empty directory on ${medium} is refused`, async () => {
      await assert.rejects(mounted({ emptyDir: { medium } }), /unknown storage medium|exactly one size/);
      assert.deepEqual(await mountsUnder([dir]), []);
    });
  }

  test("volumeExcess() counts all volumes, and those that need a mount on the node", () => {
    const many = (count: number, volume: object) =>
      Array.from({ length: count }, (_, at) => ({ name: `v${at}`, ...volume }));
    const podWith = (volumes: object[], mounts: object[] = []) =>
      ({ spec: { containers: [{ name: "c", volumeMounts: mounts }], volumes } }) as unknown as Pod;
    const memory = { emptyDir: { medium: "Memory" } };

    assert.equal(volumeExcess(podWith(many(1000, { emptyDir: {} }), many(999, { mountPath: "/x" }))), undefined);
    assert.equal(volumeExcess(podWith(many(512, memory))), undefined);
    assert.match(volumeExcess(podWith(many(300, memory), many(300, { subPath: "x" }))) ?? "", /needs 600 mounts/);
    assert.match(volumeExcess(podWith(many(1001, { emptyDir: {} }))) ?? "", /has 1001 volumes/);
  });

  test("the kubelet's writes for a pod cannot fill the node's memory or disk", async () => {
    secrets.set("s", { data: { large: Buffer.alloc(1 << 20).toString("base64") } });
    const many = Object.fromEntries(Array.from({ length: 20_000 }, (_, at) => [`k${at}`, ""]));
    configMaps.set("many", { data: many });
    const source = { secret: { name: "s", items: [{ key: "large", path: "same" }] } };

    const asVolumes = async () => {
      for (let at = 0; at < 20; at++) await mounted({ name: `v${at}`, secret: { secretName: "s", defaultMode: 0 } });
    };
    await assert.rejects(asVolumes(), /files on memory exceed 16384Ki/);
    const sources = Array.from({ length: 1000 }, () => source);
    await assert.rejects(mounted({ projected: { sources, defaultMode: 0 } }), /files on memory exceed 16384Ki/);
    await assert.rejects(mounted({ configMap: { name: "many", defaultMode: 0 } }), /files on disk exceed 65536Ki/);
  });

  for (const bad of ["../up", "/abs", "a/../b", "..data", "./..data", ".", "./", ""]) {
    test(`no file is written at ${bad}`, async () => {
      await assert.rejects(writeAtomically(dir, new Map([[bad, file("x")]]), { nowMs: 0 }), /invalid path in volume/);
    });
  }

  suite("subPath", () => {
    const volume = () => `${dir}/volume`;
    const bind = (subPath: string, name = "t") =>
      bindSubPath({ volumePath: volume(), subPath, target: `${dir}/subpaths/${name}` });

    beforeEach(async () => {
      await mkdir(`${volume()}/real`, { recursive: true });
      await writeFile(`${volume()}/real/file`, "content");
      await symlink("real", `${volume()}/inside`);
      await symlink("/etc", `${volume()}/outside`);
      await symlink("nowhere", `${volume()}/dangling`);
    });

    test("binds directories, files, and targets of links inside the volume", async () => {
      assert.equal(await readFile(`${await bind("real")}/file`, "utf8"), "content");
      assert.equal(await readFile(await bind("real/file", "f"), "utf8"), "content");
      assert.equal(await readFile(`${await bind("inside", "i")}/file`, "utf8"), "content");
      assert.equal(await bind("real"), `${dir}/subpaths/t`);
      assert.deepEqual((await mountsUnder([`${dir}/subpaths`])).toSorted(), [
        `${dir}/subpaths/f`,
        `${dir}/subpaths/i`,
        `${dir}/subpaths/t`,
      ]);
    });

    test("is bound again for each start, to what the path leads to by then", async () => {
      await symlink("real/file", `${volume()}/current`);
      const bound = await bind("current", "c");
      await writeFile(`${volume()}/new`, "newer");
      await rm(`${volume()}/current`);
      await symlink("new", `${volume()}/current`);

      assert.equal(await bind("current", "c"), bound);
      assert.equal(await readFile(bound, "utf8"), "newer");
      await bind("real", "c");
      assert.equal(await readFile(`${bound}/file`, "utf8"), "content");
      assert.deepEqual(await mountsUnder([`${dir}/subpaths`]), [bound]);
    });

    test("creates what is missing, with the volume's owner and mode", async () => {
      await chmod(volume(), 0o777);
      await bind("new/deep");

      assert.equal(await modeOf(`${volume()}/new/deep`), 0o777);
      await writeFile(`${dir}/subpaths/t/x`, "");
      assert.deepEqual(await readdir(`${volume()}/new/deep`), ["x"]);
    });

    for (const bad of [
      "outside",
      "outside/passwd",
      "outside/new",
      "dangling",
      "dangling/x",
      "../volume",
      "/etc",
      "real/../..",
    ]) {
      test(`refuses ${bad}`, async () => {
        await assert.rejects(bind(bad), /subPath .* must stay/);
        assert.deepEqual(await mountsUnder([dir]), []);
      });
    }
  });
});

const aPod = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: {
    name: "pod",
    namespace: "default",
    uid: "u",
    labels: { text: 'say "hi"\n\u00ad é', app: "web" },
    annotations: { "a/b": "annotated" },
  },
  spec: {
    containers: [
      {
        name: "web",
        resources: { limits: { cpu: "250m" }, requests: { memory: "64Mi" } },
      },
    ],
  },
  status: {},
} as unknown as Pod;
