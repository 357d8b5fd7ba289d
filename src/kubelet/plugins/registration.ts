import { watch } from "node:fs";
import { mkdir, readdir } from "node:fs/promises";
import type { Clock } from "#lib/clock.ts";
import { GrpcClient, rpc } from "#lib/grpc/client.ts";
import { field, message, repeated } from "#lib/grpc/message.ts";
import type { Log } from "#lib/log.ts";

/** A program that offers itself to the node: a driver for volumes or devices. */
export interface PluginInfo {
  /** `CSIPlugin`, `DevicePlugin`, `DRAPlugin`. */
  readonly type: string;
  readonly name: string;
  /** Its socket. */
  readonly endpoint: string;
  readonly versions: readonly string[];
}
export interface PluginHandler {
  /** Rejects a plugin by throwing; it is told why. */
  register(plugin: PluginInfo): Promise<void>;
  unregister(plugin: PluginInfo): void;
}
export interface RegistrationOptions {
  /** Plugins put a socket there to be found. */
  readonly dir: string;
  readonly handlers: Readonly<Record<string, PluginHandler>>;
  readonly clock: Clock;
  readonly log: Log;
}

/** Takes up plugins as their sockets appear, and drops them as these go, until the signal. */
export async function watchPlugins(options: RegistrationOptions, signal: AbortSignal): Promise<void> {
  const { dir, clock } = options;
  await mkdir(dir, { recursive: true });
  const known = new Map<string, PluginInfo>();
  const changes = watchDirectory(dir, signal);
  while (!signal.aborted) {
    const isComplete = await update(options, known);
    // A socket may be there before its server: look again soon.
    await Promise.race([changes.next(), ...(isComplete ? [] : [clock.sleep(retryMs, signal).catch(() => {})])]);
  }
}

const retryMs = 1_000;

async function update(options: RegistrationOptions, known: Map<string, PluginInfo>): Promise<boolean> {
  const sockets = new Set((await readdir(options.dir)).filter((name) => name.endsWith(".sock")));
  for (const [socket, plugin] of known) {
    if (sockets.has(socket)) continue;
    known.delete(socket);
    options.handlers[plugin.type]?.unregister(plugin);
    options.log.info("plugin gone", { plugin: plugin.name });
  }
  const fresh = [...sockets].filter((socket) => !known.has(socket));
  const taken = await Promise.all(fresh.map((socket) => takeUp(options, known, socket)));
  return taken.every(Boolean);
}

async function takeUp(options: RegistrationOptions, known: Map<string, PluginInfo>, socket: string): Promise<boolean> {
  const { dir, handlers, clock, log } = options;
  using client = new GrpcClient({ address: `unix://${dir}/${socket}`, clock });
  try {
    const info = await client.call(getInfo, {}, { timeoutMs });
    const plugin = { ...info, endpoint: info.endpoint || `${dir}/${socket}` };
    const handler = handlers[plugin.type];
    if (!handler) throw new Error(`no handler for plugins of type ${plugin.type}`);
    await handler.register(plugin).catch(async (error: unknown) => {
      await client.call(notify, { error: error instanceof Error ? error.message : String(error) }, { timeoutMs });
      throw error;
    });
    await client.call(notify, { pluginRegistered: true }, { timeoutMs });
    known.set(socket, plugin);
    log.info("plugin registered", { plugin: plugin.name, type: plugin.type });
    return true;
  } catch (error) {
    log.warn("plugin not registered", { socket, error });
    return false;
  }
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

interface Changes {
  /** Resolves when something changed since the last call, or the signal fired. */
  next(): Promise<void>;
}

function watchDirectory(dir: string, signal: AbortSignal): Changes {
  let isDirty = false;
  let wake: (() => void) | undefined;
  const note = () => {
    isDirty = true;
    wake?.();
  };
  const watcher = watch(dir, { signal, persistent: false }, note);
  watcher.on("error", note);
  signal.addEventListener("abort", note, { once: true });
  return {
    async next() {
      if (!isDirty) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      isDirty = false;
    },
  };
}
