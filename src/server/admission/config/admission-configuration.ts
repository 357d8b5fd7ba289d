import path from "node:path";
import { nullable, optional, required } from "#schema/fields.ts";
import { type Infer, object } from "#schema/schema.ts";
import { any, list, string } from "#schema/types.ts";
import { ConfigFileError, type ConfigKind, parseConfig, readConfigFile } from "#server/config/config-file.ts";
import { type PodSecurityConfig } from "../pod-security/config.ts";
import { podSecurityConfiguration, podSecurityFrom } from "./pod-security-configuration.ts";

/** The configurations of those plugins that have one. */
export interface PluginConfigs {
  readonly podSecurity?: PodSecurityConfig;
}

const flag = "admission-control-config-file";

const pluginSchema = object("AdmissionPluginConfiguration", "The configuration of one plugin.", {
  name: required(1, string(), "Name of the plugin."),
  path: optional(2, string(), "File with the configuration, relative to this one."),
  configuration: nullable(3, any(), "The configuration itself. It counts before path."),
});
type PluginEntry = Infer<typeof pluginSchema>;

const schema = object("AdmissionConfiguration", "The configuration of the admission plugins.", {
  apiVersion: optional(1, string()),
  kind: optional(2, string()),
  plugins: optional(3, list(pluginSchema), "One entry for each plugin that is configured."),
});

const configurable = ["PodSecurity"];

const admissionConfiguration: ConfigKind<Infer<typeof schema>> = {
  kind: "AdmissionConfiguration",
  apiVersions: ["apiserver.config.k8s.io/v1", "apiserver.k8s.io/v1alpha1"],
  schema,
  validate(at) {
    const seen = new Set<string>();
    at.each("plugins", (plugin) => {
      const name = plugin.field("name");
      if (name.value && !configurable.includes(name.value)) name.oneOf(configurable);
      else if (seen.has(name.value)) name.duplicate();
      seen.add(name.value);
    });
  },
};

/** Reads the file that `--admission-control-config-file` names, and those that it names. Fails with a ConfigFileError. */
export async function loadAdmissionConfiguration(file: string): Promise<PluginConfigs> {
  const { plugins = [] } = await parseConfig(admissionConfiguration, await readConfigFile(file, flag), file);
  const index = plugins.findIndex(({ name }) => name === "PodSecurity");
  const entry = plugins[index];
  if (!entry) return {};
  const { text, where } = await textOf(entry, file, `plugins[${index}]`);
  return { podSecurity: podSecurityFrom(await parseConfig(podSecurityConfiguration, text, where)) };
}

/** The configuration of a plugin, and how faults in it say where they are. */
async function textOf({ name, path: other, configuration }: PluginEntry, file: string, at: string) {
  if (configuration !== undefined) {
    return { text: JSON.stringify(configuration), where: `${file}: ${at}.configuration` };
  }
  if (!other) {
    const advice = `write what ${name} needs into configuration, or name a file in path`;
    throw new ConfigFileError(`${file}: ${at}: has neither configuration nor path: ${advice}`);
  }
  const where = path.resolve(path.dirname(file), other);
  return { text: await readConfigFile(where, flag), where };
}
