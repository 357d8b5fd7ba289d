import { mkdir, readdir, stat } from "node:fs/promises";
import { backoffMs } from "#lib/async/backoff.ts";
import type { Clock } from "#lib/async/clock.ts";
import { watchDirectory } from "#lib/fs/watch-directory.ts";
import type { Log } from "#lib/process/log.ts";
import { GrpcClient, rpc } from "#lib/proto/grpc/client.ts";
import { field, message, repeated } from "#lib/proto/grpc/message.ts";
import { messageOf } from "#lib/text/message-of.ts";

/** A program that registers with the kubelet: a driver for volumes or devices. */
export interface PluginInfo {
  /** `CSIPlugin`, `DevicePlugin`, `DRAPlugin`. */
  readonly type: string;
  readonly name: string;
  /** Its socket. */
  readonly endpoint: string;
  readonly versions: readonly string[];
}
export interface PluginHandler {
  /** Throws to reject a plugin, which gets the message. */
  register(plugin: PluginInfo): Promise<void>;
  unregister(plugin: PluginInfo): void;
}
export interface RegistrationOptions {
  /** Plugins put their sockets into this directory. */
  readonly dir: string;
  readonly handlers: Readonly<Record<string, PluginHandler>>;
  readonly clock: Clock;
  readonly log: Log;
}

/** Registers plugins as their sockets appear, and drops them as these disappear, until the signal. */
export async function watchPlugins(options: RegistrationOptions, signal: AbortSignal): Promise<void> {
  const { dir, clock } = options;
  await mkdir(dir, { recursive: true, mode: 0o750 });
  const known = new Map<string, PluginInfo>();
  const failures = new Map<string, number>();
  const changes = watchDirectory(dir, signal);
  while (!signal.aborted) {
    await update(options, { known, failures });
    // A socket may exist before its server listens, so try again soon.
    const worst = Math.max(0, ...failures.values());
    const pause = worst > 0 ? [clock.sleep(backoffMs(worst, retry), signal).catch(() => {})] : [];
    await Promise.race([changes.taken(), ...pause]);
  }
}

const retry = { baseMs: 1000, maxMs: 60_000 };

interface Sockets {
  readonly known: Map<string, PluginInfo>;
  /** How often the plugins that do not answer were tried. */
  readonly failures: Map<string, number>;
}

async function update(options: RegistrationOptions, { known, failures }: Sockets): Promise<void> {
  const { dir, handlers, log } = options;
  const sockets = await findSockets(dir);
  for (const [key, plugin] of known) {
    if (sockets.has(key)) continue;
    known.delete(key);
    handlers[plugin.type]?.unregister(plugin);
    log.info("plugin gone", { plugin: plugin.name });
  }
  for (const key of failures.keys()) if (!sockets.has(key)) failures.delete(key);
  const fresh = [...sockets].filter(([key]) => !known.has(key));
  await Promise.all(
    fresh.map(async ([key, socket]) => {
      try {
        known.set(key, await takeUp(options, socket));
        failures.delete(key);
      } catch (error) {
        if (!failures.has(key)) log.warn("could not register the plugin", { socket, error });
        failures.set(key, (failures.get(key) ?? 0) + 1);
      }
    }),
  );
}

/** Paths of sockets, each under a key that a new socket at the same path would not have. */
async function findSockets(dir: string): Promise<Map<string, string>> {
  const entries = await readdir(dir, { withFileTypes: true });
  const paths = entries.filter((entry) => entry.isSocket()).map(({ name }) => `${dir}/${name}`);
  const found = await Promise.all(
    paths.map(async (path) => ({ path, stats: await stat(path).catch(() => undefined) })),
  );
  return new Map(found.flatMap(({ path, stats }) => (stats ? [[`${path} ${stats.ino} ${stats.ctimeMs}`, path]] : [])));
}

async function takeUp({ handlers, clock, log }: RegistrationOptions, socket: string): Promise<PluginInfo> {
  using client = new GrpcClient({ address: `unix://${socket}`, clock });
  const info = await client.call(getInfo, {}, { timeoutMs });
  const plugin = { ...info, endpoint: info.endpoint || socket };
  try {
    const handler = handlers[plugin.type];
    if (!handler) throw new Error(`no handler registered for plugin type: ${plugin.type} at socket ${socket}`);
    await handler.register(plugin);
  } catch (error) {
    await client.call(notify, { error: messageOf(error) }, { timeoutMs });
    throw error;
  }
  await client.call(notify, { pluginRegistered: true }, { timeoutMs });
  log.info("plugin registered", { plugin: plugin.name, type: plugin.type });
  return plugin;
}

const timeoutMs = 10_000;

const Info = message({
  type: field(1, "string"),
  name: field(2, "string"),
  endpoint: field(3, "string"),
  versions: repeated(4, "string"),
});
const RegistrationStatus = message({ pluginRegistered: field(1, "bool"), error: field(2, "string") });
const Empty = message({});
const getInfo = rpc("/pluginregistration.Registration/GetInfo", Empty, Info);
const notify = rpc("/pluginregistration.Registration/NotifyRegistrationStatus", RegistrationStatus, Empty);
