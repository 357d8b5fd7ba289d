import { StatefulSet } from "#api/apps/stateful-set.ts";
import { availableAt, isFinished, isReady } from "#api/core/pod/pod-state.ts";
import { type Pod } from "#api/core/pod.ts";
import { type PodTemplateSpec } from "#api/core/pod-template.ts";
import { type InputOf } from "#api/resource.ts";
import { revisionLabel } from "#api/well-known.ts";
import { podFrom } from "#controllers/shared/owned-pods.ts";

const nameLabel = "statefulset.kubernetes.io/pod-name";
const indexLabel = "apps.kubernetes.io/pod-index";

export const firstOrdinal = ({ spec }: StatefulSet): number => spec.ordinals?.start ?? 0;

/** The number at the end of the pod's name; undefined if the pod has none, and so is not one of the set's. */
export function ordinalOf({ metadata }: Pod, set: StatefulSet): number | undefined {
  const prefix = `${set.metadata.name}-`;
  const { name } = metadata;
  if (!name.startsWith(prefix)) return undefined;
  const text = name.slice(prefix.length);
  return /^(0|[1-9]\d{0,9})$/.test(text) ? Number(text) : undefined;
}

export const podName = (set: StatefulSet, ordinal: number): string => `${set.metadata.name}-${ordinal}`;

export const revisionOf = ({ metadata }: Pod): string | undefined => metadata.labels?.[revisionLabel];

/** It runs, and has been ready for long enough. */
export const isAvailable = (pod: Pod, { spec }: StatefulSet, nowMs: number): boolean =>
  isRunningAndReady(pod) && (availableAt(pod, spec.minReadySeconds ?? 0) ?? Infinity) <= nowMs;

export const isRunningAndReady = (pod: Pod): boolean => pod.status.phase === "Running" && isReady(pod);

export const hasEnded = (pod: Pod): boolean => isFinished(pod);

/** The claims of a pod, by the name of their template. */
export const claimNames = (set: StatefulSet, ordinal: number): ReadonlyMap<string, string> =>
  new Map(
    (set.spec.volumeClaimTemplates ?? []).map(({ metadata }) => {
      const name = metadata.name ?? "";
      return [name, `${name}-${podName(set, ordinal)}`];
    }),
  );

/** Labels that tell a pod of the set from the others. */
export const identityLabels = (set: StatefulSet, ordinal: number): Record<string, string> => ({
  [nameLabel]: podName(set, ordinal),
  [indexLabel]: String(ordinal),
});

/** The pod of an ordinal: a lasting name, a host name under the set's service, and volumes of its own. */
export function memberPod(
  set: StatefulSet,
  {
    ordinal,
    revision,
    template,
  }: { readonly ordinal: number; readonly revision: string; readonly template: PodTemplateSpec },
): InputOf<Pod> {
  const { metadata, spec } = podFrom(StatefulSet, set, template);
  const { generateName: _, ...rest } = metadata;
  const name = podName(set, ordinal);
  const claims = claimNames(set, ordinal);
  const own = [...claims].map(([name, claimName]) => ({ name, persistentVolumeClaim: { claimName } }));
  const others = template.spec.volumes?.filter(({ name }) => !claims.has(name)) ?? [];
  const volumes = [...own, ...others];
  const labels = { ...metadata.labels, ...identityLabels(set, ordinal), [revisionLabel]: revision };
  return {
    metadata: { ...rest, name, labels },
    spec: {
      ...spec,
      hostname: name,
      ...(set.spec.serviceName ? { subdomain: set.spec.serviceName } : {}),
      ...(volumes.length > 0 ? { volumes } : {}),
    },
  };
}
