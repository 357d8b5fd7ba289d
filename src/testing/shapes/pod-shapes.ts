import type { Pod } from "#api/core/pod.ts";
import type { InputOf } from "#api/resource.ts";

type Spec = NonNullable<InputOf<Pod>["spec"]>;
type Container = NonNullable<Spec["containers"]>[number];

/** A pod that a real and a simulated node must treat alike. */
export interface PodShape {
  readonly name: string;
  readonly spec: Spec;
  /** What the pod has reached when it is deleted. */
  readonly until: Goal;
}

/** One of these: the pod is ready, has this phase, has a container that waits for this reason, or has these events. */
export type Goal =
  | { readonly ready: true }
  | { readonly phase: string }
  | { readonly waiting: string }
  | { readonly events: readonly string[] };

export const shapeImage = "orlop.test/busybox:1";
/** Objects that exist; whatever is called `nothing` does not. */
export const settings = { name: "settings", data: { color: "blue" } };
export const password = { name: "password", data: { word: "c2VjcmV0" } };
export const unboundClaim = "unbound";

/** Programs, in words that a shell runs and a simulated node understands. */
export const runs = "trap 'exit 0' TERM; while :; do sleep 1 & wait $!; done";
const exits = (code: number, afterSeconds = 1): string => `sleep ${afterSeconds}; exit ${code}`;
const serves = `mkdir -p /www; echo ok > /www/index.html; httpd -p 8080 -h /www; ${runs}`;

const container = (name: string, script: string, more: Partial<Container> = {}): Container => ({
  name,
  image: shapeImage,
  command: ["sh", "-c", script],
  ...more,
});
const main = (more: Partial<Container> = {}, script: string = runs): Pick<Spec, "containers"> => ({
  containers: [container("main", script, more)],
});
const mounting = (source: object, more: Partial<Container> = {}): Spec => ({
  ...main({ volumeMounts: [{ name: "data", mountPath: "/data" }], ...more }),
  volumes: [{ name: "data", ...source }],
});
const env = (name: "configMapKeyRef" | "secretKeyRef", ref: object): Spec =>
  main({ env: [{ name: "VALUE", valueFrom: { [name]: ref } }] });
const probe = (handler: object): object => ({ periodSeconds: 1, failureThreshold: 1, ...handler });
const exec = (command: string): object => probe({ exec: { command: [command] } });

/** Until the server listens, on any machine. */
const later = { initialDelaySeconds: 3 };

const ready = { ready: true } as const;
const crashLoop = { waiting: "CrashLoopBackOff" };
const badConfig = { waiting: "CreateContainerConfigError" };
/** Images are pulled meanwhile. */
const failedMount = { events: ["FailedMount", "Pulled"] };
const startedMain = "Started: Container started spec.containers{main}";
const failed = { phase: "Failed" };
const succeeded = { phase: "Succeeded" };
const sidecar = (more: Partial<Container> = {}): Container =>
  container("side", runs, { restartPolicy: "Always", ...more });

const programs: readonly PodShape[] = [
  { name: "one-container", spec: main(), until: ready },
  { name: "two-containers", spec: { containers: [container("a", runs), container("b", runs)] }, until: ready },
  { name: "exits-0-never", spec: { ...main({}, exits(0)), restartPolicy: "Never" }, until: succeeded },
  { name: "exits-3-never", spec: { ...main({}, exits(3)), restartPolicy: "Never" }, until: failed },
  { name: "exits-0-on-failure", spec: { ...main({}, exits(0)), restartPolicy: "OnFailure" }, until: succeeded },
  { name: "exits-3-on-failure", spec: { ...main({}, exits(3)), restartPolicy: "OnFailure" }, until: crashLoop },
  { name: "exits-0-always", spec: main({}, exits(0)), until: crashLoop },
  { name: "exits-3-always", spec: main({}, exits(3)), until: crashLoop },
  {
    name: "one-of-two-fails",
    spec: { containers: [container("a", exits(0)), container("b", exits(3, 2))], restartPolicy: "Never" },
    until: failed,
  },
  {
    name: "both-end-well",
    spec: { containers: [container("a", exits(0)), container("b", exits(0, 2))], restartPolicy: "Never" },
    until: succeeded,
  },
  { name: "deadline", spec: { ...main(), activeDeadlineSeconds: 20 }, until: failed },
  { name: "no-grace", spec: { ...main(), terminationGracePeriodSeconds: 1 }, until: ready },
  { name: "user", spec: main({ securityContext: { runAsUser: 1000 } }), until: ready },
  { name: "not-root", spec: main({ securityContext: { runAsNonRoot: true } }), until: badConfig },
  { name: "pod-not-root", spec: { ...main(), securityContext: { runAsNonRoot: true } }, until: badConfig },
  {
    name: "guaranteed",
    spec: main({ resources: { limits: { cpu: "100m", memory: "64Mi" } } }),
    until: ready,
  },
  {
    name: "burstable",
    spec: main({ resources: { requests: { cpu: "10m" }, limits: { memory: "64Mi" } } }),
    until: ready,
  },
  { name: "host-network", spec: { ...main(), hostNetwork: true }, until: ready },
  { name: "hostname", spec: { ...main(), hostname: "own", subdomain: "there" }, until: ready },
  { name: "shared-processes", spec: { ...main(), shareProcessNamespace: true }, until: ready },
  { name: "no-token", spec: { ...main(), automountServiceAccountToken: false }, until: ready },
  {
    name: "readiness-gate",
    spec: { ...main(), readinessGates: [{ conditionType: "example.com/open" }] },
    until: { events: ["Started"] },
  },
  { name: "too-large", spec: main({ resources: { requests: { cpu: "4000" } } }), until: failed },
];

const inits: readonly PodShape[] = [
  { name: "init", spec: { ...main(), initContainers: [container("init", exits(0))] }, until: ready },
  {
    name: "two-inits",
    spec: { ...main(), initContainers: [container("init-1", exits(0)), container("init-2", exits(0))] },
    until: ready,
  },
  {
    name: "init-fails-never",
    spec: { ...main(), initContainers: [container("init", exits(3))], restartPolicy: "Never" },
    until: failed,
  },
  { name: "init-fails-always", spec: { ...main(), initContainers: [container("init", exits(3))] }, until: crashLoop },
  {
    name: "init-fails-on-failure",
    spec: { ...main(), initContainers: [container("init", exits(3))], restartPolicy: "OnFailure" },
    until: crashLoop,
  },
  {
    name: "second-init-fails",
    spec: {
      ...main(),
      initContainers: [container("init-1", exits(0)), container("init-2", exits(3))],
      restartPolicy: "Never",
    },
    until: failed,
  },
  { name: "sidecar", spec: { ...main(), initContainers: [sidecar()] }, until: ready },
  {
    name: "sidecar-of-a-job",
    spec: { ...main({}, exits(0, 2)), initContainers: [sidecar()], restartPolicy: "Never" },
    until: succeeded,
  },
  {
    name: "init-after-sidecar",
    spec: { ...main(), initContainers: [sidecar(), container("init", exits(0))] },
    until: ready,
  },
  {
    name: "sidecar-not-ready",
    spec: { ...main(), initContainers: [sidecar({ readinessProbe: exec("false") })] },
    until: { events: ["Unhealthy", startedMain] },
  },
  {
    name: "init-misses-secret",
    spec: {
      ...main(),
      initContainers: [container("init", exits(0), { envFrom: [{ secretRef: { name: "nothing" } }] })],
    },
    until: badConfig,
  },
];

const references: readonly PodShape[] = [
  { name: "env-config-map", spec: env("configMapKeyRef", { name: "settings", key: "color" }), until: ready },
  { name: "env-secret", spec: env("secretKeyRef", { name: "password", key: "word" }), until: ready },
  { name: "env-no-config-map", spec: env("configMapKeyRef", { name: "nothing", key: "color" }), until: badConfig },
  { name: "env-no-secret", spec: env("secretKeyRef", { name: "nothing", key: "word" }), until: badConfig },
  { name: "env-no-key", spec: env("configMapKeyRef", { name: "settings", key: "size" }), until: badConfig },
  { name: "env-no-secret-key", spec: env("secretKeyRef", { name: "password", key: "size" }), until: badConfig },
  {
    name: "env-optional",
    spec: env("configMapKeyRef", { name: "nothing", key: "color", optional: true }),
    until: ready,
  },
  {
    name: "env-from-no-config-map",
    spec: main({ envFrom: [{ configMapRef: { name: "nothing" } }] }),
    until: badConfig,
  },
  { name: "env-from-no-secret", spec: main({ envFrom: [{ secretRef: { name: "nothing" } }] }), until: badConfig },
  {
    name: "env-from-optional",
    spec: main({ envFrom: [{ secretRef: { name: "nothing", optional: true } }] }),
    until: ready,
  },
  {
    name: "env-of-the-pod",
    spec: main({ env: [{ name: "IP", valueFrom: { fieldRef: { fieldPath: "status.podIP" } } }] }),
    until: ready,
  },
];

const volumes: readonly PodShape[] = [
  { name: "empty-dir", spec: mounting({ emptyDir: {} }), until: ready },
  { name: "memory-dir", spec: mounting({ emptyDir: { medium: "Memory", sizeLimit: "1Mi" } }), until: ready },
  { name: "config-map", spec: mounting({ configMap: { name: "settings" } }), until: ready },
  { name: "no-config-map", spec: mounting({ configMap: { name: "nothing" } }), until: failedMount },
  { name: "optional-config-map", spec: mounting({ configMap: { name: "nothing", optional: true } }), until: ready },
  {
    name: "no-config-map-key",
    spec: mounting({ configMap: { name: "settings", items: [{ key: "size", path: "size" }] } }),
    until: failedMount,
  },
  { name: "secret", spec: mounting({ secret: { secretName: "password" } }), until: ready },
  { name: "no-secret", spec: mounting({ secret: { secretName: "nothing" } }), until: failedMount },
  {
    name: "projected",
    spec: mounting({
      projected: { sources: [{ configMap: { name: "settings" } }, { secret: { name: "password" } }] },
    }),
    until: ready,
  },
  {
    name: "projected-no-secret",
    spec: mounting({ projected: { sources: [{ configMap: { name: "settings" } }, { secret: { name: "nothing" } }] } }),
    until: failedMount,
  },
  {
    name: "downward-api",
    spec: mounting({ downwardAPI: { items: [{ path: "name", fieldRef: { fieldPath: "metadata.name" } }] } }),
    until: ready,
  },
  { name: "no-claim", spec: mounting({ persistentVolumeClaim: { claimName: "nothing" } }), until: failedMount },
  { name: "unbound-claim", spec: mounting({ persistentVolumeClaim: { claimName: unboundClaim } }), until: failedMount },
  { name: "no-driver", spec: mounting({ flexVolume: { driver: "example.com/none" } }), until: failedMount },
];

const images: readonly PodShape[] = [
  { name: "no-image", spec: main({ image: "orlop.test/nothing:1" }), until: { waiting: "ImagePullBackOff" } },
  {
    name: "never-pulled",
    spec: main({ image: "orlop.test/nothing:1", imagePullPolicy: "Never" }),
    until: { waiting: "ErrImageNeverPull" },
  },
  { name: "bad-image-name", spec: main({ image: "Not An Image" }), until: { waiting: "InvalidImageName" } },
  {
    name: "no-init-image",
    spec: { ...main(), initContainers: [container("init", exits(0), { image: "orlop.test/nothing:1" })] },
    until: { waiting: "ImagePullBackOff" },
  },
];

const checks: readonly PodShape[] = [
  { name: "ready-by-command", spec: main({ readinessProbe: exec("true") }), until: ready },
  { name: "never-ready", spec: main({ readinessProbe: exec("false") }), until: { events: ["Unhealthy"] } },
  { name: "alive", spec: main({ livenessProbe: exec("true") }), until: ready },
  { name: "not-alive", spec: main({ livenessProbe: exec("false") }), until: crashLoop },
  { name: "does-not-start", spec: main({ startupProbe: exec("false") }), until: crashLoop },
  {
    name: "starts-then-ready",
    spec: main({ startupProbe: exec("true"), readinessProbe: { ...exec("true"), ...later } }),
    until: ready,
  },
  {
    name: "ready-by-http",
    spec: main({ readinessProbe: probe({ httpGet: { port: 8080 }, ...later }) }, serves),
    until: ready,
  },
  {
    name: "ready-by-tcp",
    spec: main({ readinessProbe: probe({ tcpSocket: { port: 8080 }, ...later }) }, serves),
    until: ready,
  },
  { name: "not-alive-by-tcp", spec: main({ livenessProbe: probe({ tcpSocket: { port: 9 } }) }), until: crashLoop },
  { name: "post-start", spec: main({ lifecycle: { postStart: { exec: { command: ["true"] } } } }), until: ready },
  {
    name: "post-start-fails",
    spec: main({ lifecycle: { postStart: { exec: { command: ["false"] } } } }),
    until: { events: ["FailedPostStartHook"] },
  },
  { name: "pre-stop", spec: main({ lifecycle: { preStop: { exec: { command: ["true"] } } } }), until: ready },
  { name: "pre-stop-fails", spec: main({ lifecycle: { preStop: { exec: { command: ["false"] } } } }), until: ready },
];

export const podShapes: readonly PodShape[] = [...programs, ...inits, ...references, ...volumes, ...images, ...checks];
