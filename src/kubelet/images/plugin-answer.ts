import type { RegistryAuth } from "#kubelet/runtime/runtime.ts";
import { isObject } from "#lib/data/json-object.ts";
import { parseDuration } from "#schema/duration.ts";

export const pluginApiVersion = "credentialprovider.kubelet.k8s.io/v1";

/** The logins that a credential plugin knows. */
export interface PluginAnswer {
  readonly logins: readonly { readonly pattern: string; readonly auth: RegistryAuth }[];
  /** For what the answer holds: this image, all of its registry, or all images. */
  readonly cacheKeyType: "Image" | "Registry" | "Global";
  /** How long it holds; undefined if the plugin does not say. */
  readonly cacheMs: number | undefined;
}

const maxChars = 1 << 20;
const maxLogins = 100;
const keyTypes = ["Image", "Registry", "Global"] as const;

/** Reads the answer of a plugin. Throws if it is none. */
export function parsePluginAnswer(text: string): PluginAnswer {
  if (text.length > maxChars) throw new Error(`its answer has more than ${maxChars} characters`);
  const value = JSON.parse(text);
  if (!isObject(value)) throw new Error("its answer is not an object");
  if (value.kind !== "CredentialProviderResponse" || value.apiVersion !== pluginApiVersion) {
    throw new Error(`its answer is not a CredentialProviderResponse of ${pluginApiVersion}`);
  }
  const cacheKeyType = keyTypes.find((one) => one === value.cacheKeyType);
  if (!cacheKeyType) throw new Error("its answer has no valid cacheKeyType");
  const { cacheDuration } = value;
  const cacheMs = typeof cacheDuration === "string" ? Number(parseDuration(cacheDuration) / 1_000_000n) : undefined;
  if (cacheMs !== undefined && cacheMs < 0) throw new Error("its answer has a negative cacheDuration");
  const auth = isObject(value.auth) ? Object.entries(value.auth) : [];
  return {
    logins: auth.slice(0, maxLogins).flatMap(([pattern, login]) => {
      if (!isObject(login)) return [];
      return [{ pattern, auth: { username: textOf(login.username), password: textOf(login.password) } }];
    }),
    cacheKeyType,
    cacheMs,
  };
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : "");
