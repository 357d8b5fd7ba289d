import { access, constants } from "node:fs/promises";
import path from "node:path";
import { type Cursor } from "#api/cursor.ts";
import type { CredentialPlugin } from "#kubelet/images/credential-plugins.ts";
import { pluginApiVersion } from "#kubelet/images/plugin-answer.ts";
import { parseDuration } from "#schema/duration.ts";
import { present } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import { any, duration, list, string } from "#schema/types.ts";
import { ConfigFileError, type ConfigKind, parseConfig, readConfigFile } from "#server/config/config-file.ts";
import { fieldMaker } from "./fields.ts";

const object = inPackage("kubelet.config.k8s.io/v1");
const { text, maybe, maybeNull } = fieldMaker();

const Variable = object("ExecEnvVar", "A variable of the program's environment.", {
  name: present(1, string(), "Its name."),
  value: present(2, string(), "Its value."),
});
const Provider = object("CredentialProvider", "A program that knows logins for images.", {
  name: text("", "The name of the program in the directory of such programs."),
  matchImages: maybe(list(string()), "Patterns of the images that it is asked about."),
  defaultCacheDuration: maybeNull(duration(), "How long an answer is kept that does not say."),
  apiVersion: text("", "The version of its input and output."),
  args: maybe(list(string()), "Its arguments."),
  env: maybe(list(Variable), "Variables of its environment."),
  tokenAttributes: maybe(any(), "For programs that get a token of the pod's service account."),
});
const CredentialProviderConfig = object("CredentialProviderConfig", "Programs that know logins for images.", {
  apiVersion: maybe(string(), "Version of this file."),
  kind: maybe(string(), "CredentialProviderConfig."),
  providers: maybe(list(Provider), "The programs."),
});
interface CredentialProviderConfig extends Infer<typeof CredentialProviderConfig> {}

const credentialProviderConfig: ConfigKind<CredentialProviderConfig> = {
  kind: "CredentialProviderConfig",
  apiVersions: ["kubelet.config.k8s.io/v1"],
  schema: CredentialProviderConfig,
  validate,
};

function validate(at: Cursor<CredentialProviderConfig>): void {
  if ((at.value.providers ?? []).length === 0) at.field("providers").required("at least 1 item in plugins is required");
  const seen = new Set<unknown>();
  at.each("providers", (provider) => {
    const { name, matchImages = [], defaultCacheDuration, tokenAttributes } = provider.value;
    const named = provider.field("name");
    named.unique(seen);
    if (/[/ ]/.test(name) || ["", ".", ".."].includes(name))
      named.invalid("must be the name of a file, without spaces");
    provider.field("apiVersion").oneOf([pluginApiVersion]);
    if (matchImages.length === 0) provider.field("matchImages").required("at least 1 item in matchImages is required");
    if (defaultCacheDuration === undefined) provider.field("defaultCacheDuration").required("");
    else if (parseDuration(defaultCacheDuration) < 0n) {
      provider.field("defaultCacheDuration").invalid("must be greater than or equal to 0");
    }
    if (tokenAttributes !== undefined)
      provider.field("tokenAttributes").forbidden("tokens of service accounts are not supported");
  });
}

/** What upstream's two flags name. */
export interface CredentialFiles {
  readonly config: string | undefined;
  readonly binDir: string | undefined;
}

/** Reads which programs know logins for images; each of them must be there. Fails with a ConfigFileError. */
export async function loadCredentialPlugins({ config, binDir }: CredentialFiles): Promise<CredentialPlugin[]> {
  if (config === undefined && binDir === undefined) return [];
  if (config === undefined || binDir === undefined) {
    throw new ConfigFileError(
      "--image-credential-provider-config and --image-credential-provider-bin-dir need each other",
    );
  }
  const { providers = [] } = await parseConfig(
    credentialProviderConfig,
    await readConfigFile(config, "image-credential-provider-config"),
    config,
  );
  return await Promise.all(providers.map((provider) => pluginOf(provider, binDir)));
}

async function pluginOf(provider: Infer<typeof Provider>, binDir: string): Promise<CredentialPlugin> {
  const { name, args = [], env = [], matchImages = [], defaultCacheDuration = "0s" } = provider;
  const program = path.join(binDir, name);
  await access(program, constants.X_OK).catch((cause) => {
    throw new ConfigFileError(
      `${program} is no program that this user may run: install it, or remove ${name} from the file`,
      { cause },
    );
  });
  return {
    name,
    program,
    args,
    env: Object.fromEntries(env.map((one) => [one.name, one.value])),
    matchImages,
    defaultCacheMs: Number(parseDuration(defaultCacheDuration) / 1_000_000n),
  };
}
