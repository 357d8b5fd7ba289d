import type { Probe } from "#api/core/container/probe.ts";
import type { AnyContainer } from "#api/core/pod/pod-containers.ts";
import type { Pod } from "#api/core/pod.ts";
import type { Volume } from "#api/core/volume/volume.ts";
import { quantityValue } from "#api/meta/quantity.ts";
import type { Clock } from "#lib/async/clock.ts";
import { outOfTime, withDeadline } from "#lib/async/deadline.ts";
import { fewAtATime } from "#lib/async/tasks.ts";
import { type AskedProbe, type MountedVolumes, type PodHost, simulatedHost } from "./host/host.ts";
import type { ProbeKind } from "./probes/judge.ts";
import type { CheckLimits, ProbeOutcome } from "./probes/network.ts";
import { behaviourOf, type PodRule } from "./runtime/simulation/behaviour.ts";
import { findClaimed } from "./volumes/claim.ts";
import type { MountedVolume, VolumePlugin, VolumeSources } from "./volumes/plugin.ts";
import { VolumeError } from "./volumes/volumes.ts";
import type { Payload } from "./volumes/written/atomic-writer.ts";
import { type WriteBudgets, writeBudgets } from "./volumes/written/write-budget.ts";
import {
  configMapVolume,
  downwardApiVolume,
  projectedVolume,
  secretVolume,
} from "./volumes/written/written-volumes.ts";

/** A probe of a container that exists only as state. */
export interface SimulatedProbe {
  readonly pod: Pod;
  readonly container: AnyContainer;
  readonly kind: ProbeKind;
  readonly probe: Probe;
}

/** Lets a test decide what a simulated machine answers. */
export interface SimulatedHostHooks {
  /**
   * Whether a probe succeeds; true by default, except that `exec` answers for commands. An error is a failure with its
   * message. It may return a promise, for which the kubelet waits as long as the probe's timeout.
   */
  probe?(probe: SimulatedProbe): boolean | undefined | Promise<boolean | undefined>;
}

export interface SimulatedHostOptions {
  readonly clock: Clock;
  readonly allocatable: Readonly<Record<string, string>>;
  readonly hooks?: SimulatedHostHooks;
  readonly rules?: readonly PodRule[];
}

/** A machine without disks. Volumes need what they need on a real node; the files of those that show objects are in memory. */
export function createSimulatedHost(options: SimulatedHostOptions): PodHost {
  const { clock, allocatable, hooks = {}, rules = [] } = options;
  const places = { podDir: "", podMemoryDir: "", node: { allocatable }, clock, isNew: false };
  const kept = new Map<string, KeptPod>();
  const keptOf = (uid: string): KeptPod => {
    const { memory = "0", pods = "1" } = allocatable;
    const budgets = () => writeBudgets({ memoryBytes: quantityValue(memory), pods: quantityValue(pods) });
    const one = kept.get(uid) ?? { budgets: budgets(), files: new Map<string, Payload>() };
    kept.set(uid, one);
    return one;
  };
  const setUp = async (pod: Pod, sources: VolumeSources, volume: Volume): Promise<[string, MountedVolume]> => {
    const { budgets, files } = keptOf(pod.metadata.uid);
    const path = pathOf(pod.metadata.uid, volume.name);
    try {
      const plugin = shownVolumes.find((one) => one.handles(volume));
      if (plugin) files.set(path, (await plugin.files?.({ ...places, pod, sources, budgets }, volume)) ?? new Map());
      else if (volume.persistentVolumeClaim || volume.ephemeral) await findClaimed({ pod, sources }, volume);
      else if (!otherKinds.some((kind) => volume[kind])) throw new Error("no volume plugin matched");
    } catch (error) {
      throw new VolumeError(volume.name, error);
    }
    return [volume.name, { path, readOnly: volume.persistentVolumeClaim?.readOnly ?? false }];
  };
  const setUpAll = async (pod: Pod, sources: VolumeSources): Promise<MountedVolumes> =>
    new Map(await fewAtATime(pod.spec.volumes ?? [], (volume) => setUp(pod, sources, volume)));
  return {
    ...simulatedHost,
    isSimulated: true,
    mountVolumes: setUpAll,
    refreshVolumes: async (pod, sources) => void (await setUpAll(pod, sources)),
    readVolumeFile: async ({ path }, file) => textOf(kept.get(uidOf(path))?.files.get(path), file),
    release: async (uid) => void kept.delete(uid),
    probe: (asked, limits, check) => answerProbe({ hooks, rules }, asked, limits, check),
  };
}

interface KeptPod {
  readonly budgets: WriteBudgets;
  /** The files of its volumes, by the volume's path. */
  readonly files: Map<string, Payload>;
}

const shownVolumes: readonly VolumePlugin[] = [configMapVolume, secretVolume, downwardApiVolume, projectedVolume];

/** The other kinds that a real node can mount. */
const otherKinds = ["emptyDir", "hostPath", "nfs", "image", "csi"] as const;

const pathOf = (uid: string, volume: string): string => `${uid}/${volume}`;
const uidOf = (path: string): string => path.slice(0, path.indexOf("/"));

function textOf(files: Payload | undefined, name: string): string | undefined {
  const content = files?.get(name)?.content;
  return content && Buffer.from(content.text, content.encoding).toString();
}

async function answerProbe(
  { hooks, rules }: { readonly hooks: SimulatedHostHooks; readonly rules: readonly PodRule[] },
  { pod, container, kind, probe }: AskedProbe,
  { clock, signal, timeoutMs }: CheckLimits,
  check: () => Promise<ProbeOutcome>,
): Promise<ProbeOutcome> {
  const { labels = {}, annotations = {} } = pod.metadata;
  const ruled = behaviourOf(rules, { pod: pod.metadata, labels, annotations }, container).probes;
  if (!hooks.probe && ruled === undefined) return await check();
  const ask = async () => (await hooks.probe?.({ pod, container, kind, probe })) ?? ruled;
  try {
    const answer = await withDeadline(timeoutMs, { clock, signal }, ask);
    if (answer === outOfTime) return { result: "failure", output: `timed out after ${timeoutMs / 1000}s` };
    if (answer === undefined) return await check();
    return answer ? { result: "success", output: "" } : { result: "failure", output: "the simulated probe fails" };
  } catch (error) {
    signal.throwIfAborted();
    return { result: "failure", output: error instanceof Error ? error.message : String(error) };
  }
}
