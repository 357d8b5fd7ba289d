import { Pod } from "#api/core/pod.ts";
import { ResourceClaim } from "#api/devices/resource-claim.ts";
import { ResourceClaimTemplate } from "#api/devices/resource-claim-template.ts";
import { ResourceSlice } from "#api/devices/resource-slice.ts";
import { type Ordeal, type Place } from "#testing/chaos/ordeal.ts";

const podWithClaim = (at: Place, name: string) =>
  at.create(Pod, {
    metadata: at.ref(name),
    spec: {
      nodeName: "node-1",
      containers: [{ name: "c", image: "i", resources: { claims: [{ name: "gpu" }] } }],
      resourceClaims: [{ name: "gpu", resourceClaimTemplateName: "one" }],
    },
  });

const driver = "gpu.example.com";
const tolerationsOf = {
  patient: [{ operator: "Exists" as const, effect: "NoExecute" as const }],
  slow: [{ operator: "Exists" as const, effect: "NoExecute" as const, tolerationSeconds: 120 }],
  other: [],
};

/** A claim that has a device of its own, and a pod that uses it. */
async function podWithDevice(at: Place, name: keyof typeof tolerationsOf): Promise<void> {
  const requests = [{ name: "gpu", exactly: { deviceClassName: "gpu" } }];
  const claim = await at.create(ResourceClaim, { metadata: at.ref(name), spec: { devices: { requests } } });
  const result = { request: "gpu", driver, pool: at.namespace, device: name, tolerations: tolerationsOf[name] };
  const status = { allocation: { devices: { results: [result] } } };
  await at.cluster.client.updateStatus(ResourceClaim, { ...claim, status });
  await at.create(Pod, {
    metadata: at.ref(name),
    spec: {
      nodeName: "node-1",
      containers: [{ name: "c", image: "i", resources: { claims: [{ name: "gpu" }] } }],
      resourceClaims: [{ name: "gpu", resourceClaimName: name }],
    },
  });
}

const publishDevices = (at: Place, taints: readonly { key: string; effect: "NoExecute" }[]) =>
  at.apply(ResourceSlice, {
    metadata: { name: at.namespace },
    spec: {
      driver,
      pool: { name: at.namespace, generation: 1, resourceSliceCount: 1 },
      nodeName: "node-1",
      devices: Object.keys(tolerationsOf).map((name) => ({ name, taints: [...taints] })),
    },
  });

export const devices: readonly Ordeal[] = [
  {
    name: "a tainted device loses exactly the pods that do not tolerate it",
    controllers: ["device-taint-eviction-controller"],
    rounds: [
      async (at) => {
        await publishDevices(at, []);
        for (const name of ["patient", "slow", "other"] as const) await podWithDevice(at, name);
      },
      (at) => publishDevices(at, [{ key: "broken", effect: "NoExecute" }]),
    ],
    ends: async (at) => [(await at.list(Pod)).map(({ metadata }) => metadata.name), ["patient"]],
  },
  {
    name: "the claims of a template come and go with their pods",
    controllers: ["resourceclaim-controller"],
    rounds: [
      async (at) => {
        const requests = [{ name: "gpu", exactly: { deviceClassName: "gpu" } }];
        await at.create(ResourceClaimTemplate, {
          metadata: at.ref("one"),
          spec: { spec: { devices: { requests } } },
        });
        await podWithClaim(at, "stays");
        await podWithClaim(at, "ends");
      },
      async (at) => {
        const claims = new Set((await at.list(ResourceClaim)).map(({ metadata }) => metadata.name));
        const [stays] = (await at.list(Pod)).filter(({ metadata }) => metadata.name === "stays");
        const names = (stays?.status.resourceClaimStatuses ?? []).map(
          ({ resourceClaimName = "" }) => resourceClaimName,
        );
        if (names.length !== 1 || !claims.has(names[0] ?? ""))
          at.fault(`the pod has ${names}, there are ${[...claims]}`);
      },
      (at) => at.cluster.client.delete(Pod, at.ref("stays"), { gracePeriodSeconds: 0 }),
    ],
    endOf: ({ metadata }) => (metadata.name === "ends" ? "Succeeded" : undefined),
    watch(at) {
      const claimsOf = new Map<string, Set<string>>();
      at.follow(ResourceClaim, ({ metadata: { name, ownerReferences = [] } }, type) => {
        const pod = ownerReferences[0]?.name ?? "";
        const own = claimsOf.get(pod) ?? new Set();
        claimsOf.set(pod, own);
        if (type === "put") own.add(name);
        else own.delete(name);
        if (own.size > at.leaders) at.fault(`pod ${pod} has ${own.size} claims`);
      });
    },
    ends: async (at) => [(await at.list(ResourceClaim)).map(({ metadata }) => metadata.name), []],
  },
];
