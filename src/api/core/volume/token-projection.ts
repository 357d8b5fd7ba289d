import { deepFreeze } from "#lib/data/freeze.ts";
import { type ProjectedVolumeSource } from "./volume.ts";

/** An hour and a few seconds: this number shows the server that no user chose it. */
const expirationSeconds = 3607;

/**
 * What the server mounts into nearly every pod: token, authority and namespace. All pods share this one object, which is
 * known to be sound, so it takes neither memory nor checks for each of them.
 */
export const tokenProjection: ProjectedVolumeSource = deepFreeze({
  sources: [
    { serviceAccountToken: { expirationSeconds, path: "token" } },
    { configMap: { name: "kube-root-ca.crt", items: [{ key: "ca.crt", path: "ca.crt" }] } },
    {
      downwardAPI: {
        items: [{ path: "namespace", fieldRef: { apiVersion: "v1", fieldPath: "metadata.namespace" } }],
      },
    },
  ],
  defaultMode: 0o644,
});
