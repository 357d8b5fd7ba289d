import { type Clock } from "#lib/async/clock.ts";
import { type Log } from "#lib/process/log.ts";
import { type PluginArgs } from "#scheduler/args/plugin-args.ts";
import { Extenders } from "#scheduler/extenders/extenders.ts";
import { type Profile, type SchedulerPlugin } from "#scheduler/framework.ts";
import { coscheduling } from "#scheduler/gang/coscheduling.ts";
import { defaultPlugins, type PluginDeps } from "#scheduler/profiles.ts";
import { type SchedulerSetup } from "#scheduler/setup.ts";
import { Reservations } from "#scheduler/volumes/reservations.ts";
import { parseDuration } from "#schema/duration.ts";
import { root } from "#schema/field-error.ts";
import { ConfigFileError, parseConfig, readConfigFile } from "#server/config/config-file.ts";
import { argsKinds } from "./args-kinds.ts";
import { arrangePlugins } from "./arrange-plugins.ts";
import {
  type KubeSchedulerConfiguration,
  type LeaderElection,
  nameOf,
  type ProfileConfig,
  schedulerConfiguration,
} from "./configuration.ts";
import { enoughNodes } from "./enough-nodes.ts";
import { loadOwnPlugin, type OwnPlugin } from "./load-plugin.ts";
import { ignoredResources, openExtender } from "./open-extenders.ts";

/** What a configuration file says about the scheduler. */
export interface Scheduling extends Disposable {
  /** Creates the plugins. Fails with a ConfigFileError if they cannot be arranged as the file says. */
  setup(deps: PluginDeps): SchedulerSetup;
  readonly election: LeaseElection | undefined;
}

/** How one of several servers is chosen to run the scheduler. */
export interface LeaseElection {
  readonly enabled?: boolean;
  readonly leaseDurationMs: number;
  readonly renewDeadlineMs: number;
  readonly retryPeriodMs: number;
  readonly lease: { readonly namespace: string; readonly name: string };
}

export interface LoadDeps {
  readonly log: Log;
  readonly clock: Clock;
}

/** A profile with everything that it needs loaded. */
interface LoadedProfile {
  readonly config: ProfileConfig;
  readonly name: string;
  readonly args: PluginArgs;
  readonly own: readonly OwnPlugin[];
  readonly field: string;
}

/** Reads the file that `--scheduler-config` names, and the plugins that it names. Fails with a ConfigFileError. */
export async function loadScheduling(file: string, { log, clock }: LoadDeps): Promise<Scheduling> {
  const config = await parseConfig(schedulerConfiguration, await readConfigFile(file, "scheduler-config"), file);
  const configs = config.profiles?.length ? config.profiles : [{}];
  const profiles: LoadedProfile[] = [];
  for (const [index, profile] of configs.entries()) {
    const field = `profiles[${index}]`;
    const name = nameOf(profile, configs.length === 1);
    profiles.push({ config: profile, name, field, ...(await loadPluginConfig(profile, { file, field }, log)) });
  }
  const servers = await Promise.all((config.extenders ?? []).map((extender) => openExtender(extender, clock)));
  const extenders = servers.length > 0 ? new Extenders(servers, log) : undefined;
  return {
    setup: (deps) => setUp(config, profiles, deps, { file, extenders }),
    [Symbol.dispose]() {
      for (const server of servers) server[Symbol.dispose]();
    },
    election: config.leaderElection && electionOf(config.leaderElection),
  };
}

/** The arguments of the plugins that we have, and the plugins of users. */
async function loadPluginConfig(
  { pluginConfig = [] }: ProfileConfig,
  { file, field }: { readonly file: string; readonly field: string },
  log: Log,
): Promise<Pick<LoadedProfile, "args" | "own">> {
  const args: Record<string, unknown> = {};
  const own: OwnPlugin[] = [];
  for (const [index, { name, args: given = {} }] of pluginConfig.entries()) {
    const place = `${field}.pluginConfig[${index}]`;
    const kind = Object.hasOwn(argsKinds, name) ? argsKinds[name as keyof typeof argsKinds] : undefined;
    if (kind) {
      const typed = { apiVersion: kind.apiVersions[0], kind: kind.kind, ...(given as object) };
      args[name] = await parseConfig<object>(kind as never, JSON.stringify(typed), `${file}: ${place}.args`);
    } else own.push(await loadOwnPlugin(name, given, { file, field: place }, log));
  }
  return { args, own };
}

function setUp(
  config: KubeSchedulerConfiguration,
  profiles: readonly LoadedProfile[],
  deps: PluginDeps,
  { file, extenders }: { readonly file: string; readonly extenders: Extenders | undefined },
): SchedulerSetup {
  const shared = { ...deps, reservations: new Reservations(), devices: {} };
  const known = new Map<string, SchedulerPlugin>();
  const built = profiles.map((loaded) => buildProfile(config, loaded, shared, known));
  const faults = built.flatMap((each) => each.faults);
  const [first] = built;
  built.forEach(({ profile }, index) => {
    if (first && sorterOf(profile) !== sorterOf(first.profile)) {
      faults.push(`profiles[${index}].plugins.queueSort: Invalid value: must be the same for all profiles`);
    }
  });
  if (faults.length > 0) throw new ConfigFileError(`${file}: ${faults.slice(0, maxShown).join("; ")}`);
  const backoff = { initialMs: config.podInitialBackoffSeconds * 1000, maxMs: config.podMaxBackoffSeconds * 1000 };
  // An extender that binds goes before the default binder.
  const binders = extenders ? [extenders.plugin] : [];
  const all = built.map(({ profile }) => ({ ...profile, plugins: [...binders, ...profile.plugins] }));
  return { profiles: all, backoff, extenders };
}

/** Nobody corrects more at a time. */
const maxShown = 5;

const sorterOf = ({ plugins }: Profile): string | undefined => plugins.find(({ queueSort }) => queueSort)?.name;

function buildProfile(
  config: KubeSchedulerConfiguration,
  loaded: LoadedProfile,
  deps: PluginDeps,
  known: Map<string, SchedulerPlugin>,
): { readonly profile: Profile; readonly faults: string[] } {
  const { own, name, field } = loaded;
  const args = withIgnored(loaded.args, ignoredResources(config.extenders ?? []));
  const defaults = defaultPlugins(deps, args).map((plugin) => sharedPlugin(plugin, args, known));
  const others = [sharedPlugin(coscheduling(args.Coscheduling), args, known), ...own.map((create) => create(deps))];
  const { plugins, faults } = arrangePlugins({ defaults, others }, loaded.config.plugins ?? {}, root.child("plugins"));
  const percentage = loaded.config.percentageOfNodesToScore ?? config.percentageOfNodesToScore;
  const enough = percentage === undefined ? {} : { enoughOf: (nodes: number) => enoughNodes(nodes, percentage) };
  return {
    profile: { schedulerName: name, plugins, ...enough },
    faults: faults.map(({ path, message }) => `${field}.${path}: ${message}`),
  };
}

/** What extenders look after need not be free on a node. */
function withIgnored(args: PluginArgs, ignored: readonly string[]): PluginArgs {
  if (ignored.length === 0) return args;
  const { ignoredResources: given = [], ...fit } = args.NodeResourcesFit ?? {};
  return { ...args, NodeResourcesFit: { ...fit, ignoredResources: [...given, ...ignored] } };
}

/** Profiles share a plugin with the same arguments, because it may remember what it has promised to pods. */
function sharedPlugin(plugin: SchedulerPlugin, args: PluginArgs, known: Map<string, SchedulerPlugin>): SchedulerPlugin {
  const key = `${plugin.name} ${JSON.stringify(args[plugin.name as keyof PluginArgs])}`;
  const earlier = known.get(key);
  if (!earlier) known.set(key, plugin);
  return earlier ?? plugin;
}

function electionOf(election: LeaderElection): LeaseElection {
  const ms = (text: string): number => Number(parseDuration(text) / 1_000_000n);
  return {
    ...(election.leaderElect === undefined ? {} : { enabled: election.leaderElect }),
    leaseDurationMs: ms(election.leaseDuration),
    renewDeadlineMs: ms(election.renewDeadline),
    retryPeriodMs: ms(election.retryPeriod),
    lease: { namespace: election.resourceNamespace, name: election.resourceName },
  };
}
