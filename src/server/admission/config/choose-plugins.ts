import { type AdmissionPlugin } from "../plugin.ts";

/** Names of plugins that the administrator turns on or off. */
export interface PluginChoice {
  readonly enable?: readonly string[];
  readonly disable?: readonly string[];
}

/** The administrator's choice is not possible. The message names the flag and what to do. */
export class PluginChoiceError extends Error {
  override readonly name = "PluginChoiceError";
}

const flags = { enable: "--enable-admission-plugins", disable: "--disable-admission-plugins" } as const;

/** The plugins that run, in their order. */
export function choosePlugins(all: readonly AdmissionPlugin[], choice: PluginChoice = {}): AdmissionPlugin[] {
  const [on, off] = [new Set(choice.enable), new Set(choice.disable)];
  checkNames(all, choice);
  const both = [...on].find((name) => off.has(name));
  if (both) throw new PluginChoiceError(`${both} is in both ${flags.enable} and ${flags.disable}: remove it from one`);
  return all.filter(({ name, runs }) => runs === "always" || (runs === "asked" ? on.has(name) : !off.has(name)));
}

function checkNames(all: readonly AdmissionPlugin[], choice: PluginChoice): void {
  const known = all.filter(({ runs }) => runs !== "always").map(({ name }) => name);
  for (const list of ["enable", "disable"] as const) {
    const wrong = choice[list]?.find((name) => !known.includes(name));
    if (wrong === undefined) continue;
    const names = known.toSorted().join(", ");
    throw new PluginChoiceError(`${flags[list]}: there is no plugin ${JSON.stringify(wrong)}: choose from ${names}`);
  }
}
