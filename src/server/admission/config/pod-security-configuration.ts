import { type Cursor } from "#api/cursor.ts";
import { dns1123Label, dns1123Subdomain } from "#api/meta/names.ts";
import { embedded, optional } from "#schema/fields.ts";
import { type Infer, object } from "#schema/schema.ts";
import { list, string } from "#schema/types.ts";
import { type ConfigKind } from "#server/config/config-file.ts";
import { type PodSecurityConfig } from "../pod-security/config.ts";
import {
  isVersion,
  type LevelVersion,
  levelFault,
  type Mode,
  modes,
  parseLevel,
  versionFault,
} from "../pod-security/levels.ts";

const defaultsSchema = object("PodSecurityDefaults", "What counts in a namespace whose labels do not say it.", {
  enforce: optional(1, string(), "Level that pods must not violate; privileged if empty."),
  "enforce-version": optional(2, string(), "Version of that level; latest if empty."),
  audit: optional(3, string(), "Level whose violations are in the audit log; privileged if empty."),
  "audit-version": optional(4, string(), "Version of that level; latest if empty."),
  warn: optional(5, string(), "Level whose violations cause warnings; privileged if empty."),
  "warn-version": optional(6, string(), "Version of that level; latest if empty."),
});

const exemptionsSchema = object("PodSecurityExemptions", "What is never checked.", {
  usernames: optional(1, list(string()), "Users whose requests are not checked."),
  namespaces: optional(2, list(string()), "Namespaces whose pods are not checked."),
  runtimeClasses: optional(3, list(string()), "Runtime classes whose pods are not checked."),
});

const schema = object("PodSecurityConfiguration", "The configuration of the admission plugin PodSecurity.", {
  apiVersion: optional(1, string()),
  kind: optional(2, string()),
  defaults: embedded(3, defaultsSchema),
  exemptions: embedded(4, exemptionsSchema),
});
type PodSecurityConfiguration = Infer<typeof schema>;

export const podSecurityConfiguration: ConfigKind<PodSecurityConfiguration> = {
  kind: "PodSecurityConfiguration",
  apiVersions: ["v1", "v1beta1", "v1alpha1"].map((version) => `pod-security.admission.config.k8s.io/${version}`),
  schema,
  validate(at) {
    const defaults = at.field("defaults");
    for (const mode of modes) {
      const [level, version] = [defaults.set(mode), defaults.set(`${mode}-version`)];
      if (level && !parseLevel(level.value)) level.invalid(levelFault);
      if (version && !isVersion(version.value)) version.invalid(versionFault);
    }
    const exemptions = at.field("exemptions");
    eachOnce(exemptions, "usernames", (name) => (name === "" ? "username must not be empty" : undefined));
    eachOnce(exemptions, "namespaces", dns1123Label);
    eachOnce(exemptions, "runtimeClasses", dns1123Subdomain);
  },
};

type Exemptions = PodSecurityConfiguration["exemptions"];

function eachOnce(
  at: Cursor<Exemptions>,
  field: keyof Exemptions,
  faultOf: (name: string) => string | undefined,
): void {
  const seen = new Set<string>();
  at.each(field, (name) => {
    const fault = faultOf(name.value);
    if (fault) name.invalid(fault);
    else if (seen.has(name.value)) name.duplicate();
    seen.add(name.value);
  });
}

/** As the plugin needs it. */
export function podSecurityFrom({ defaults, exemptions }: PodSecurityConfiguration): PodSecurityConfig {
  const levelOf = (mode: Mode): LevelVersion => ({
    level: parseLevel(defaults[mode] ?? "") ?? "privileged",
    version: defaults[`${mode}-version`] ?? "latest",
  });
  return {
    defaults: { enforce: levelOf("enforce"), audit: levelOf("audit"), warn: levelOf("warn") },
    exemptions: {
      usernames: new Set(exemptions.usernames),
      namespaces: new Set(exemptions.namespaces),
      runtimeClasses: new Set(exemptions.runtimeClasses),
    },
  };
}
