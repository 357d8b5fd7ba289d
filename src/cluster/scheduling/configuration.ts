import { type Cursor } from "#api/cursor.ts";
import { parseDuration } from "#schema/duration.ts";
import { defaulted, nullable, optional, present } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import { any, boolean, double, duration, int32, int64, list, string } from "#schema/types.ts";
import { type ConfigKind } from "#server/config/config-file.ts";
import { Extender, validateExtenders } from "./extender-config.ts";

const object = inPackage("kubescheduler.config.k8s.io/v1");

const Plugin = object("Plugin", "A plugin, by name.", {
  name: present(1, string(), "Name of the plugin; * is all of them, among those that are disabled."),
  weight: optional(2, int32(), "What its score is multiplied by."),
});

const PluginSet = object("PluginSet", "Changes to the plugins of one extension point.", {
  enabled: optional(1, list(Plugin), "Plugins that run besides the default ones."),
  disabled: optional(2, list(Plugin), "Default plugins that do not run."),
});
export interface PluginSet extends Infer<typeof PluginSet> {}

/** The extension points, in the order in which a pod passes them. */
export const extensionPoints = [
  "preEnqueue",
  "queueSort",
  "preFilter",
  "filter",
  "postFilter",
  "preScore",
  "score",
  "reserve",
  "permit",
  "preBind",
  "bind",
  "postBind",
] as const;
export type ExtensionPoint = (typeof extensionPoints)[number];

const set = (tag: number, doc: string) => optional(tag, PluginSet, doc);
const Plugins = object("Plugins", "Which plugins run where.", {
  preEnqueue: set(1, "Before a pod enters the queue."),
  queueSort: set(2, "Which pod goes first."),
  preFilter: set(3, "Before nodes are filtered."),
  filter: set(4, "Whether a node fits."),
  postFilter: set(5, "When no node fits."),
  preScore: set(6, "Before nodes are scored."),
  score: set(7, "How good a node is."),
  reserve: set(8, "When a node was chosen."),
  permit: set(9, "Whether the pod may be bound now."),
  preBind: set(10, "Before a pod is bound."),
  bind: set(11, "How a pod is bound."),
  postBind: set(12, "When a pod is bound."),
  multiPoint: set(13, "All extension points that a plugin has."),
});
export interface Plugins extends Infer<typeof Plugins> {}

const PluginConfig = object("PluginConfig", "The arguments of a plugin.", {
  name: present(1, string(), "Name of the plugin."),
  args: nullable(2, any(), "Its arguments."),
});
export interface PluginConfig extends Infer<typeof PluginConfig> {}

const KubeSchedulerProfile = object("KubeSchedulerProfile", "A scheduler, by name.", {
  schedulerName: optional(1, string(), "Pods with this spec.schedulerName are scheduled by this profile."),
  percentageOfNodesToScore: nullable(2, int32(), "As that of all profiles, for this one."),
  plugins: nullable(3, Plugins, "Changes to the default plugins."),
  pluginConfig: optional(4, list(PluginConfig), "Arguments of plugins."),
});
export interface ProfileConfig extends Infer<typeof KubeSchedulerProfile> {}

const LeaderElection = object("LeaderElectionConfiguration", "Which of several servers runs the scheduler.", {
  leaderElect: nullable(1, boolean(), "Whether the scheduler waits for a lease."),
  leaseDuration: defaulted(2, duration(), "15s", "How long others wait for a leader that does not renew its lease."),
  renewDeadline: defaulted(3, duration(), "10s", "How long a leader tries to renew its lease."),
  retryPeriod: defaulted(4, duration(), "2s", "Pause between two attempts."),
  resourceLock: defaulted(5, string(), "leases", "Must be leases."),
  resourceName: defaulted(6, string(), "kube-scheduler", "Name of the lease."),
  resourceNamespace: defaulted(7, string(), "kube-system", "Namespace of the lease."),
});
export interface LeaderElection extends Infer<typeof LeaderElection> {}

const ClientConnection = object("ClientConnectionConfiguration", "For schedulers that run as a program of their own.", {
  kubeconfig: optional(1, string(), "How to reach the API server."),
  acceptContentTypes: optional(2, string(), "What is accepted from it."),
  contentType: optional(3, string(), "What is sent to it."),
  qps: optional(4, double(), "Requests a second."),
  burst: optional(5, int32(), "Requests at once."),
});

export const KubeSchedulerConfiguration = object("KubeSchedulerConfiguration", "The scheduler.", {
  apiVersion: optional(1, string(), "Version of this file."),
  kind: optional(2, string(), "KubeSchedulerConfiguration."),
  parallelism: defaulted(3, int32(), 16, "Upstream's number of threads. One is enough here."),
  leaderElection: nullable(4, LeaderElection, "Which of several servers runs the scheduler."),
  clientConnection: nullable(5, ClientConnection, "Not needed: the scheduler is part of the server."),
  enableProfiling: nullable(6, boolean(), "Not needed: the profiler of Node.js can be attached at any time."),
  enableContentionProfiling: nullable(7, boolean(), "The same."),
  percentageOfNodesToScore: nullable(8, int32(), "How many feasible nodes are enough; all of them if absent."),
  podInitialBackoffSeconds: defaulted(9, int64(), 1, "How long a pod waits after its first failed attempt."),
  podMaxBackoffSeconds: defaulted(10, int64(), 10, "How long it waits at most."),
  profiles: optional(11, list(KubeSchedulerProfile), "One scheduler for each name; default-scheduler by default."),
  extenders: optional(12, list(Extender), "Servers that are asked about nodes."),
  delayCacheUntilActive: optional(13, boolean(), "Not needed: the scheduler shares the caches of the server."),
});
export interface KubeSchedulerConfiguration extends Infer<typeof KubeSchedulerConfiguration> {}

/** Upstream's configuration of the scheduler, with its rules and messages. */
export const schedulerConfiguration: ConfigKind<KubeSchedulerConfiguration> = {
  kind: "KubeSchedulerConfiguration",
  apiVersions: ["kubescheduler.config.k8s.io/v1"],
  schema: KubeSchedulerConfiguration,
  validate(at) {
    const { parallelism, podInitialBackoffSeconds: initial, podMaxBackoffSeconds: max } = at.value;
    at.on("leaderElection", validateElection);
    if ((at.value.clientConnection?.burst ?? 0) < 0) {
      at.field("clientConnection").under("burst").invalid("must be non-negative", at.value.clientConnection?.burst);
    }
    if (parallelism <= 0) at.field("parallelism").invalid("should be an integer value greater than zero");
    validateProfiles(at);
    validatePercentage(at);
    if (initial <= 0) at.field("podInitialBackoffSeconds").invalid("must be greater than 0");
    if (max < initial) {
      at.field("podMaxBackoffSeconds").invalid("must be greater than or equal to PodInitialBackoffSeconds");
    }
    validateExtenders(at);
  },
};

/** The name of a profile. Only a single one may leave it out. */
export const nameOf = ({ schedulerName }: ProfileConfig, isOnly: boolean): string =>
  schedulerName ?? (isOnly ? "default-scheduler" : "");

function validateProfiles(at: Cursor<KubeSchedulerConfiguration>): void {
  const isOnly = at.value.profiles?.length === 1;
  const seen = new Map<string, number>();
  at.each("profiles", (at, index) => {
    const name = nameOf(at.value, isOnly);
    const first = seen.get(name);
    if (name === "") at.field("schedulerName").missing();
    else if (first !== undefined) at.field("schedulerName").duplicate(`profiles[${first}].schedulerName`);
    else seen.set(name, index);
    validatePercentage(at);
    const configured = new Set<string>();
    at.each("pluginConfig", (at) => {
      if (configured.has(at.value.name)) at.duplicate(at.value.name);
      configured.add(at.value.name);
    });
  });
}

function validatePercentage(at: Cursor<{ percentageOfNodesToScore?: number | undefined }>): void {
  const { percentageOfNodesToScore: percentage = 0 } = at.value;
  if (percentage < 0 || percentage > 100) at.field("percentageOfNodesToScore").invalid("not in valid range [0-100]");
}

function validateElection(at: Cursor<LeaderElection>): void {
  if (at.value.leaderElect === false) return;
  for (const name of ["leaseDuration", "renewDeadline", "retryPeriod"] as const) {
    if (parseDuration(at.value[name]) <= 0n) at.field(name).invalid("must be greater than zero");
  }
  if (parseDuration(at.value.leaseDuration) <= parseDuration(at.value.renewDeadline)) {
    at.field("leaseDuration").invalid("must be greater than `RenewDeadline`", at.value.renewDeadline);
  }
  // A leader that cannot try again in time loses its lease. Upstream's program ends with this.
  const [renew, retry] = [at.value.renewDeadline, at.value.retryPeriod].map(parseDuration);
  if (renew !== undefined && retry !== undefined && renew * 5n <= retry * 6n) {
    at.field("renewDeadline").invalid("must be greater than retryPeriod*JitterFactor");
  }
  if (at.value.resourceLock !== "leases") at.field("resourceLock").invalid('resourceLock value must be "leases"');
  at.field("resourceNamespace").required();
  at.field("resourceName").required();
}
