import path from "node:path";
import { pathToFileURL } from "node:url";
import { type Client } from "#client/client.ts";
import { type Clock } from "#lib/async/clock.ts";
import { type Log } from "#lib/process/log.ts";
import { closest } from "#lib/text/closest.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { type Informers } from "#runtime/informer.ts";
import { type SchedulerPlugin } from "#scheduler/framework.ts";
import { guard, hooks } from "#scheduler/own/guard.ts";
import { ConfigFileError } from "#server/config/config-file.ts";

/** What a user's plugin is given when the scheduler starts. */
export interface PluginContext {
  /** The arguments in the configuration file. */
  readonly args: Readonly<Record<string, unknown>>;
  readonly client: Client;
  readonly informers: Informers;
  readonly clock: Clock;
}

/** The default export of a plugin's file. */
export type CreatePlugin = (context: PluginContext) => Omit<SchedulerPlugin, "name">;

/** A user's plugin, to be created for each profile. */
export type OwnPlugin = (context: Omit<PluginContext, "args">) => SchedulerPlugin;

/** Where in the configuration a plugin is named. */
export interface Place {
  /** The configuration file. */
  readonly file: string;
  readonly field: string;
}

/** Loads the TypeScript or JavaScript file of a plugin. Fails with a ConfigFileError. */
export async function loadOwnPlugin(name: string, args: unknown, place: Place, log: Log): Promise<OwnPlugin> {
  const given = typeof args === "object" && args !== null ? (args as Readonly<Record<string, unknown>>) : {};
  const { module } = given;
  const at = `${place.file}: ${place.field}`;
  if (typeof module !== "string" || module === "") {
    const advice = "correct the name, or name the file of your own plugin";
    throw new ConfigFileError(
      `${at}.args.module: Required value: there is no plugin ${JSON.stringify(name)}: ${advice}`,
    );
  }
  const file = path.resolve(path.dirname(place.file), module);
  const create = await importPlugin(file, `${at}.args.module`);
  log.info("loaded a plugin of the scheduler", { plugin: name, file });
  return (context) => {
    let plugin: unknown;
    try {
      plugin = create({ ...context, args: given });
    } catch (cause) {
      throw new ConfigFileError(`${at}: plugin ${file} failed to start: ${messageOf(cause)}`, { cause });
    }
    const fault = faultOf(plugin);
    if (fault) throw new ConfigFileError(`${at}: plugin ${file} ${fault}`);
    return guard(name, plugin as SchedulerPlugin, context.clock);
  };
}

async function importPlugin(file: string, at: string): Promise<(context: PluginContext) => unknown> {
  let loaded: { readonly default?: unknown };
  try {
    loaded = (await import(pathToFileURL(file).href)) as { readonly default?: unknown };
  } catch (cause) {
    throw new ConfigFileError(`${at}: cannot load ${file}: ${messageOf(cause).split("\n")[0]}`, { cause });
  }
  if (typeof loaded.default === "function") return loaded.default as (context: PluginContext) => unknown;
  throw new ConfigFileError(`${at}: ${file} must export a function as default, which returns the plugin`);
}

const settings = ["weight", "retryOn"];

/** What is wrong with what a plugin's file returned. Functions and state of its own are fine, but not misspelt hooks. */
function faultOf(plugin: unknown): string | undefined {
  if (typeof plugin !== "object" || plugin === null) return "must return an object with hooks";
  const missing = (names: readonly string[]): string[] => names.filter((name) => !(name in plugin));
  for (const [name, isFunction] of membersOf(plugin)) {
    const known: readonly string[] = isFunction ? hooks : settings;
    const meant = known.includes(name) ? undefined : closest(name, missing(known));
    if (meant) return `has ${JSON.stringify(name)}, which the scheduler does not know: did you mean ${meant}?`;
  }
  if (hooks.some((hook) => hook in plugin)) return undefined;
  return "must return an object with hooks, such as filter or score";
}

/** The names in the object and in its class, and which are functions. */
function* membersOf(plugin: object): Iterable<[name: string, isFunction: boolean]> {
  for (let at: object | null = plugin; at && at !== Object.prototype; at = Object.getPrototypeOf(at) as object | null) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(at)))
      if (name !== "constructor") yield [name, typeof value === "function"];
  }
}
