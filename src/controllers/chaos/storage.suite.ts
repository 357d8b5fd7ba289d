import { Event } from "#api/core/event.ts";
import { PersistentVolume } from "#api/core/persistent-volume/persistent-volume.ts";
import { PersistentVolumeClaim } from "#api/core/persistent-volume/persistent-volume-claim.ts";
import { Pod } from "#api/core/pod.ts";
import { type InputOf } from "#api/resource.ts";
import { StorageClass } from "#api/storage/storage-class.ts";
import { VolumeAttributesClass } from "#api/storage/volume-attributes-class.ts";
import { type Ordeal, type Place } from "#testing/chaos/ordeal.ts";

const accessModes = ["ReadWriteOnce" as const];
const asking = (storage: string) => ({ accessModes, resources: { requests: { storage } } });
const volume = (at: Place, name: string, storage: string) =>
  at.create(PersistentVolume, {
    metadata: { name: `${at.namespace}-${name}` },
    spec: { accessModes, storageClassName: at.namespace, capacity: { storage }, hostPath: { path: "/mnt" } },
  });
const claim = (at: Place, name: string, storage: string, annotations: Record<string, string> = {}) =>
  at.create(PersistentVolumeClaim, {
    metadata: { ...at.ref(name), annotations },
    spec: { ...asking(storage), storageClassName: at.namespace },
  });
const volumesOf = async (at: Place) =>
  (await at.cluster.list(PersistentVolume)).filter(({ spec }) => spec.claimRef?.namespace === at.namespace);
const podWith = (at: Place, volumes: NonNullable<InputOf<Pod>["spec"]>["volumes"] & {}) =>
  at.create(Pod, {
    metadata: at.ref("user"),
    spec: { nodeName: "node-1", containers: [{ name: "c", image: "i" }], volumes },
  });
const grow = (at: Place) =>
  at.cluster.client.patch(PersistentVolumeClaim, at.ref("data"), {
    type: "merge",
    body: { spec: { resources: { requests: { storage: "2Gi" } } } },
  });
const deletePod = (at: Place) => at.cluster.client.delete(Pod, at.ref("user"), { gracePeriodSeconds: 0 });

/** Reports claims that got another volume than before, and volumes that two claims have. */
function keepBound(at: Place): void {
  const volumeOf = new Map<string, string>();
  const claimOf = new Map<string, string>();
  at.follow(PersistentVolumeClaim, ({ metadata: { name, uid }, spec: { volumeName }, status }, type) => {
    if (type !== "put" || !volumeName) return;
    if ((volumeOf.get(uid) ?? volumeName) !== volumeName) at.fault(`${name} got ${volumeName} as well`);
    if ((claimOf.get(volumeName) ?? uid) !== uid) at.fault(`${volumeName} has two claims, one of them ${name}`);
    if (status.phase === "Lost") at.fault(`${name} is lost`);
    volumeOf.set(uid, volumeName);
    claimOf.set(volumeName, uid);
  });
}

export const storage: readonly Ordeal[] = [
  {
    name: "each claim gets its own volume",
    controllers: ["persistentvolume-binder-controller"],
    rounds: [
      async (at) => {
        for (let n = 0; n < 5; n++) {
          await volume(at, `disk-${n}`, `${n + 1}Gi`);
          await claim(at, `claim-${n}`, "1Gi");
        }
        await claim(at, "too-large", "100Gi");
      },
      (at) => at.cluster.client.delete(PersistentVolumeClaim, at.ref("claim-0")),
    ],
    watch: keepBound,
    async ends(at) {
      const volumes = await volumesOf(at);
      const claims = await at.list(PersistentVolumeClaim);
      const owners = new Map(volumes.map(({ metadata, spec }) => [metadata.name, spec.claimRef?.uid]));
      const isExact = claims.every(
        ({ metadata, spec }) => !spec.volumeName || owners.get(spec.volumeName) === metadata.uid,
      );
      return [
        [volumes.map(({ status }) => status.phase).sort(), claims.map(({ status }) => status.phase), isExact],
        [["Bound", "Bound", "Bound", "Bound", "Released"], ["Bound", "Bound", "Bound", "Bound", "Pending"], true],
      ];
    },
  },
  {
    name: "a claim gets one new directory, grows, and takes it along",
    controllers: ["persistentvolume-binder-controller", "persistentvolume-expander-controller"],
    rounds: [
      async (at) => {
        await at.create(StorageClass, {
          metadata: { name: at.namespace },
          provisioner: "orlop.dev/local",
          allowVolumeExpansion: true,
          volumeBindingMode: "WaitForFirstConsumer",
        });
        // As the scheduler does.
        const annotations = { "volume.kubernetes.io/selected-node": "node-1" };
        for (const name of ["data", "other"]) await claim(at, name, "1Gi", annotations);
      },
      grow,
      (at) => at.cluster.client.delete(PersistentVolumeClaim, at.ref("other")),
    ],
    watch: keepBound,
    async ends(at) {
      const volumes = (await volumesOf(at)).map(({ spec, status }) => [spec.capacity?.storage, status.phase]);
      const claims = (await at.list(PersistentVolumeClaim)).map(({ status }) => [
        status.capacity?.storage,
        status.phase,
      ]);
      return [
        [volumes, claims],
        [[["2Gi", "Bound"]], [["2Gi", "Bound"]]],
      ];
    },
  },
  {
    name: "the claim of an ephemeral volume comes and goes with its pod",
    controllers: ["ephemeral-volume-controller", "garbage-collector-controller"],
    rounds: [
      (at) => podWith(at, [{ name: "v", ephemeral: { volumeClaimTemplate: { spec: asking("1Gi") } } }]),
      async (at) => {
        const [made, ...others] = await at.list(PersistentVolumeClaim);
        if (made?.metadata.name !== "user-v" || others.length > 0) at.fault("not exactly the claim of the pod");
        await deletePod(at);
      },
    ],
    ends: async (at) => [await at.list(PersistentVolumeClaim), []],
  },
  {
    name: "a claim in use and its class stay until the pod is gone",
    controllers: ["persistentvolumeclaim-protection-controller", "volumeattributesclass-protection-controller"],
    rounds: [
      async (at) => {
        const name = at.namespace;
        await at.create(VolumeAttributesClass, { metadata: { name }, driverName: "d", parameters: { speed: "9" } });
        const spec = { ...asking("1Gi"), storageClassName: "none", volumeAttributesClassName: name };
        await at.create(PersistentVolumeClaim, { metadata: at.ref("data"), spec });
        await podWith(at, [{ name: "v", persistentVolumeClaim: { claimName: "data" } }]);
      },
      async (at) => {
        await at.cluster.client.delete(PersistentVolumeClaim, at.ref("data"));
        await at.cluster.client.delete(VolumeAttributesClass, { name: at.namespace });
      },
      deletePod,
    ],
    watch(at) {
      const pods = at.cluster.informers.of(Pod);
      at.follow(PersistentVolumeClaim, (_claim, type) => {
        if (type === "delete" && pods.get(at.ref("user"))) at.fault("the claim went before its pod");
      });
    },
    async ends(at) {
      const classes = (await at.cluster.list(VolumeAttributesClass)).map(({ metadata }) => metadata.name);
      return [
        [await at.list(PersistentVolumeClaim), classes.includes(at.namespace)],
        [[], false],
      ];
    },
  },
  {
    name: "a bound volume stays until its claim is gone",
    controllers: ["persistentvolume-protection-controller"],
    rounds: [
      async (at) => {
        await volume(at, "disk", "1Gi");
        await claim(at, "data", "1Gi");
      },
      (at) => at.cluster.client.delete(PersistentVolume, { name: `${at.namespace}-disk` }),
      (at) => at.cluster.client.delete(PersistentVolumeClaim, at.ref("data")),
    ],
    watch(at) {
      const claims = at.cluster.informers.of(PersistentVolumeClaim);
      at.cluster.informers.of(PersistentVolume).subscribe(({ type, object }) => {
        if (type !== "delete" || object.metadata.name !== `${at.namespace}-disk`) return;
        if (claims.get(at.ref("data"))) at.fault("the volume went before its claim");
      });
    },
    ends: async (at) => [await volumesOf(at), []],
  },
  {
    name: "who grows a claim is told that it has to wait",
    controllers: ["persistentvolume-expander-controller"],
    rounds: [
      async (at) => {
        await at.create(StorageClass, {
          metadata: { name: at.namespace },
          provisioner: "nobody",
          allowVolumeExpansion: true,
        });
        await volume(at, "disk", "1Gi");
        await claim(at, "data", "1Gi");
      },
    ],
    async ends(at) {
      // Only now, because an event that is refused is not written again.
      await grow(at);
      await at.cluster.clock.advance(60_000);
      return [(await at.list(Event)).some(({ reason }) => reason === "ExternalExpanding"), true];
    },
  },
];
