import { type Node } from "#api/core/node.ts";
import { type PersistentVolume } from "#api/core/persistent-volume/persistent-volume.ts";
import { type Pod } from "#api/core/pod.ts";
import { regionLabel, zoneLabel } from "#api/well-known.ts";
import { equal } from "#lib/data/equal.ts";
import { own } from "#lib/data/own.ts";
import { type Informers } from "#runtime/informer.ts";
import { fits, rejectFinally, type SchedulerPlugin } from "../framework.ts";
import { claimsOfPod, hasClaims } from "../volumes/pod-claims.ts";
import { claimHint, volumeHint } from "../volumes/retry-hints.ts";

const elsewhere = rejectFinally("node(s) had no available volume zone");
const topologyLabels = [
  zoneLabel,
  regionLabel,
  "failure-domain.beta.kubernetes.io/zone",
  "failure-domain.beta.kubernetes.io/region",
] as const;

/** A label of a volume, and the values of which a node must have one. */
interface Topology {
  readonly key: string;
  readonly values: readonly string[];
}

/** Places a pod in the zones and regions that the labels of its volumes name. */
export function volumeZone({ informers }: { readonly informers: Informers }): SchedulerPlugin {
  const topologiesOf = (pod: Pod): Topology[] => {
    const claims = hasClaims(pod) ? claimsOfPod(informers, pod) : undefined;
    return typeof claims === "object" ? claims.volumes.flatMap(topologies) : [];
  };
  return {
    name: "VolumeZone",
    retryOn: {
      node: (_pod, { change, object, previous }) =>
        change !== "deleted" && !(previous && equal(previous.metadata.labels, object.metadata.labels)),
      objects: [claimHint, volumeHint],
    },
    looksAt: (pod) => (hasClaims(pod) ? topologiesOf(pod) : null),
    preFilter(pod) {
      const wanted = topologiesOf(pod);
      return wanted.length > 0 ? wanted : undefined;
    },
    filter: (_pod, { node }, state) => (!node || isInside(node, state as readonly Topology[]) ? fits : elsewhere),
  };
}

/** One label may name several zones: `a__b`. */
const topologies = ({ metadata: { labels } }: PersistentVolume): Topology[] =>
  topologyLabels.flatMap((key) => {
    const value = own(labels, key);
    return value === undefined ? [] : { key, values: value.split("__") };
  });

/** A node without any such label is in a cluster without zones. */
function isInside({ metadata: { labels } }: Node, wanted: readonly Topology[]): boolean {
  if (!topologyLabels.some((key) => own(labels, key) !== undefined)) return true;
  return wanted.every(({ key, values }) => {
    const found = own(labels, key) ?? own(labels, newName(key));
    return found !== undefined && values.includes(found);
  });
}

const newName = (key: string): string =>
  key === "failure-domain.beta.kubernetes.io/zone"
    ? zoneLabel
    : key === "failure-domain.beta.kubernetes.io/region"
      ? regionLabel
      : key;
