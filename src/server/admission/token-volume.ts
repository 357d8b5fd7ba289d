import { type Container } from "#api/core/container/container.ts";
import { type PodSpec } from "#api/core/pod/pod-spec.ts";
import { type Volume } from "#api/core/volume/volume.ts";
import { serviceAccountDir } from "#api/well-known.ts";
import { type Random, randomSuffix } from "#lib/data/random.ts";

const prefix = "kube-api-access-";
/** An hour and a few seconds: this number shows the server that no user chose it. */
const expirationSeconds = 3607;

/** Mounts token, authority and namespace into every container that has no other mount at that path. */
export function mountToken(spec: PodSpec, random: Random): void {
  const volumes = spec.volumes ?? [];
  const given = volumes.find(({ name }) => name.startsWith(prefix));
  const name = given?.name ?? `${prefix}${randomSuffix(random)}`;
  let isNeeded = false;
  for (const container of [...(spec.initContainers ?? []), ...spec.containers]) {
    if (mount(container, name)) isNeeded = true;
  }
  if (isNeeded && !given) spec.volumes = [...volumes, tokenVolume(name)];
}

function mount(container: Container, name: string): boolean {
  const mounts = container.volumeMounts ?? [];
  if (mounts.some((one) => one.mountPath === serviceAccountDir)) return false;
  container.volumeMounts = [...mounts, { name, readOnly: true, mountPath: serviceAccountDir }];
  return true;
}

const tokenVolume = (name: string): Volume => ({
  name,
  projected: {
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
  },
});
