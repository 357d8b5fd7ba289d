import path from "node:path";
import { pathToFileURL } from "node:url";
import { type Client } from "#client/client.ts";
import { type Clock } from "#lib/async/clock.ts";
import { type Log } from "#lib/process/log.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { type Informers } from "#runtime/informer.ts";
import { type SchedulerPlugin } from "#scheduler/framework.ts";
import { guard } from "#scheduler/own/guard.ts";
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
    if (typeof plugin === "object" && plugin !== null) return guard(name, plugin as SchedulerPlugin, context.clock);
    throw new ConfigFileError(`${at}: plugin ${file} must return an object with hooks`);
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
