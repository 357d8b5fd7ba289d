import { type Node } from "#api/core/node.ts";
import { type Pod } from "#api/core/pod.ts";
import { type InputOf } from "#api/resource.ts";
import { type Random } from "#testing/arbitrary.ts";
import { makeNode, makePod } from "#testing/scheduling.ts";

/** Random nodes and pods, with so few different labels and amounts that rules often concern each other. */

export const namespaceLabels = { default: { team: "a" }, other: { team: "b" }, third: {} };
export const labelsOfNamespace = (name: string) => namespaceLabels[name as keyof typeof namespaceLabels];

const keys = ["kubernetes.io/hostname", "zone", "rack"];
type Spec = NonNullable<Partial<InputOf<Pod>["spec"]>>;
type Term = { topologyKey: string; labelSelector?: object; namespaces?: string[]; namespaceSelector?: object };

const times = <T>(count: number, make: (n: number) => T): T[] => Array.from({ length: count }, (_, n) => make(n));

/** Only labels and taints differ. */
export const randomNode = (random: Random, name: string): Node =>
  makeNode(name, { labels: nodeLabels(random, name), spec: { taints: taints(random, 20) } as InputOf<Node>["spec"] });

/** Sizes, images and cordons differ too. */
export function randomSizedNode(random: Random, name: string): Node {
  const size = { cpu: `${1 + random.below(4)}`, memory: `${1 + random.below(4)}Gi`, pods: `${2 + random.below(5)}` };
  const allocatable = random.chance(30) ? { ...size, "example.com/chip": `${random.below(3)}` } : size;
  const images = times(random.below(3), (n) => ({
    names: [`${random.pick(["web", "db"])}:${n}`],
    sizeBytes: 10_000_000 * (1 + random.below(200)),
  }));
  const unschedulable = random.chance(8) ? { unschedulable: true } : {};
  return makeNode(name, {
    labels: { ...nodeLabels(random, name), size: `${random.below(4)}` },
    spec: { taints: taints(random, 25), ...unschedulable } as InputOf<Node>["spec"],
    status: { allocatable, images },
  });
}

function nodeLabels(random: Random, name: string): Record<string, string> {
  const labels: Record<string, string> = random.chance(90) ? { "kubernetes.io/hostname": name } : {};
  if (random.chance(80)) labels.zone = random.pick(["z1", "z2", "z3"]);
  if (random.chance(50)) labels.rack = random.pick(["r1", "r2"]);
  return labels;
}

const taints = (random: Random, percent: number) =>
  random.chance(percent)
    ? [{ key: random.pick(["a", "b"]), effect: random.pick(["NoSchedule", "PreferNoSchedule", "PreferNoSchedule"]) }]
    : [];

export const randomLabels = (random: Random): Record<string, string> => ({
  ...(random.chance(80) ? { app: random.pick(["web", "db"]) } : {}),
  ...(random.chance(30) ? { tier: random.pick(["front", "back"]) } : {}),
});

const randomSelector = (random: Random): object | undefined =>
  random.pick<object | undefined>([
    { matchLabels: { app: "web" } },
    { matchLabels: { app: "db" } },
    { matchExpressions: [{ key: "tier", operator: "Exists" }] },
    { matchExpressions: [{ key: "app", operator: "NotIn", values: ["db"] }] },
    {},
    undefined,
  ]);

function randomTerm(random: Random): Term {
  const labelSelector = randomSelector(random);
  const namespaceSelector = random.pick<object | undefined>([undefined, undefined, {}, { matchLabels: { team: "b" } }]);
  return {
    topologyKey: random.pick(keys),
    ...(labelSelector ? { labelSelector } : {}),
    ...(random.chance(30) ? { namespaces: ["other"] } : {}),
    ...(namespaceSelector ? { namespaceSelector } : {}),
  };
}

/** Rules about other pods, each with this probability. */
function rulesAboutPods(random: Random, percent: number): Spec {
  const required = () => ({
    requiredDuringSchedulingIgnoredDuringExecution: times(random.below(3), () => randomTerm(random)),
  });
  const preferred = () => ({
    preferredDuringSchedulingIgnoredDuringExecution: times(random.below(3), () => ({
      weight: 1 + random.below(100),
      podAffinityTerm: randomTerm(random),
    })),
  });
  const spec = {
    ...(random.chance(percent) ? { topologySpreadConstraints: times(random.below(3), () => randomRule(random)) } : {}),
    affinity: {
      ...(random.chance(percent) ? { podAffinity: { ...required(), ...preferred() } } : {}),
      ...(random.chance(percent) ? { podAntiAffinity: { ...required(), ...preferred() } } : {}),
    },
  };
  return spec as Spec;
}

function randomRule(random: Random) {
  const labelSelector = randomSelector(random);
  return {
    topologyKey: random.pick(keys),
    maxSkew: 1 + random.below(2),
    whenUnsatisfiable: random.pick(["DoNotSchedule", "ScheduleAnyway"]),
    ...(labelSelector ? { labelSelector } : {}),
    ...(random.chance(20) ? { minDomains: 1 + random.below(4) } : {}),
    ...(random.chance(30) ? { nodeAffinityPolicy: random.pick(["Honor", "Ignore"]) } : {}),
    ...(random.chance(30) ? { nodeTaintsPolicy: random.pick(["Honor", "Ignore"]) } : {}),
  };
}

let made = 0;

/** A pod with rules about other pods only. */
export function randomPod(random: Random, nodeName?: string): Pod {
  const selector = random.chance(20) ? { nodeSelector: { zone: "z1" } } : {};
  return placed(random, { ...rulesAboutPods(random, 40), ...selector }, nodeName);
}

/** A pod with rules and requests of all kinds. */
export function randomBusyPod(random: Random, nodeName?: string): Pod {
  const rules = rulesAboutPods(random, 12);
  const nodeAffinity = random.chance(25) ? { nodeAffinity: randomNodeAffinity(random) } : {};
  const spec = {
    ...rules,
    affinity: { ...rules.affinity, ...nodeAffinity },
    ...(random.chance(10) ? { nodeSelector: { zone: random.pick(["z1", "z2"]) } } : {}),
    ...(random.chance(30) ? { tolerations: [randomToleration(random)] } : {}),
    priority: random.pick([-5, 0, 0, 10, 100]),
    containers: times(1 + random.below(2), (n) => randomContainer(random, `c${n}`)),
    ...(random.chance(10) ? { initContainers: [randomContainer(random, "init")] } : {}),
    ...(random.chance(10) ? { overhead: { cpu: "250m" } } : {}),
  };
  return placed(random, spec as Spec, nodeName);
}

function randomContainer(random: Random, name: string) {
  const requests = {
    ...(random.chance(70) ? { cpu: `${random.pick([250, 500, 1000, 1500])}m` } : {}),
    ...(random.chance(70) ? { memory: `${random.pick([128, 256, 512, 1024])}Mi` } : {}),
    ...(random.chance(8) ? { "example.com/chip": "1" } : {}),
  };
  const hostPort = 8080 + random.below(2);
  const ports = random.chance(10)
    ? { ports: [{ containerPort: 80, hostPort, ...(random.chance(30) ? { hostIP: "10.0.0.1" } : {}) }] }
    : {};
  return { name, image: random.pick(["web:0", "db:1", "web"]), resources: { requests }, ...ports };
}

function randomToleration(random: Random) {
  const key = random.pick(["a", "b", "node.kubernetes.io/unschedulable"]);
  return { key, operator: "Exists", ...(random.chance(50) ? { effect: "NoSchedule" } : {}) };
}

function randomNodeAffinity(random: Random) {
  const term = () => ({
    matchExpressions: times(1 + random.below(2), () =>
      random.pick([
        { key: "zone", operator: "In", values: ["z1", "z2"] },
        { key: "zone", operator: "NotIn", values: ["z3"] },
        { key: "rack", operator: "Exists" },
        { key: "rack", operator: "DoesNotExist" },
        { key: "size", operator: "Gt", values: ["1"] },
        { key: "size", operator: "Lt", values: ["2"] },
      ]),
    ),
  });
  return {
    ...(random.chance(50)
      ? { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: times(1 + random.below(2), term) } }
      : {}),
    preferredDuringSchedulingIgnoredDuringExecution: times(random.below(3), () => ({
      weight: 1 + random.below(100),
      preference: term(),
    })),
  };
}

function placed(random: Random, spec: Spec, nodeName: string | undefined): Pod {
  const name = `p${made++}`;
  const pod = makePod(name, {
    ...spec,
    labels: randomLabels(random),
    ...(nodeName ? { nodeName, status: { startTime: new Date(made * 1000).toISOString() } } : {}),
  });
  const ends = nodeName && random.chance(10) ? { deletionTimestamp: "2026-01-01T00:00:00Z" } : {};
  const metadata = { ...pod.metadata, namespace: random.pick(["default", "default", "other", "third"]), ...ends };
  return { ...pod, metadata: { ...metadata, uid: name } };
}
