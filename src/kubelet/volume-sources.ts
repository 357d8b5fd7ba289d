import type { ReferencedObjects } from "./config/referenced-objects.ts";
import { type ClaimDeps, claimedVolume } from "./volumes/claimed-volume.ts";
import type { VolumeSources } from "./volumes/plugin.ts";
import type { PodTokens } from "./volumes/written/service-account-tokens.ts";

export interface SourceDeps extends ClaimDeps {
  readonly tokens: PodTokens;
  readonly objects: ReferencedObjects;
}

/** Where the volumes of one pod come from. */
export function volumeSources(deps: SourceDeps, uid: string): VolumeSources {
  const { tokens, objects } = deps;
  return {
    configMap: (namespace, name) => objects.configMap(namespace, name, uid),
    secret: (namespace, name) => objects.secret(namespace, name, uid),
    serviceAccountToken: (pod, projection) => tokens.get(pod, projection),
    trustBundle: async () => undefined,
    podCertificate: async () => {
      throw new Error("pod certificates are not enabled");
    },
    claimedVolume: (pod, claim) => claimedVolume(deps, pod, claim),
  };
}
