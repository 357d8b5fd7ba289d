import { Node } from "#api/core/node.ts";
import { Pod } from "#api/core/pod.ts";
import { isConditionTrue } from "#api/meta/condition.ts";
import { ignoreNotFound, isAlreadyExists } from "#api/status.ts";
import { attachmentName } from "#api/storage/csi-volume-name.ts";
import { VolumeAttachment } from "#api/storage/volume-attachment.ts";
import { managedAttachAnnotation, outOfServiceTaint } from "#api/well-known.ts";
import { referenceTo } from "#client/events.ts";
import { equal } from "#lib/data/equal.ts";
import { againAfter, type Reconciler, type ReconcilerDeps } from "#runtime/reconciler.ts";
import { attachmentsAt } from "./attachments-at.ts";
import { type AttachmentPlan, planAttachments, type WantedVolume, whyBlocked } from "./plan-attachments.ts";
import { wakesOf } from "./wakes.ts";
import { readKinds, usersOf, volumesAt } from "./wanted-volumes.ts";

/** What was done for a node, and cannot be read from the API. */
interface Memory {
  /** Since when nobody wants an attachment, by its name. */
  readonly unwantedSince: ReadonlyMap<string, number>;
  /** Volumes about whose wait the pods were told. */
  readonly blocked: ReadonlySet<string>;
  /** The last failure that the pods were told about, by attachment. */
  readonly failures: ReadonlyMap<string, string>;
}
const blank: Memory = { unwantedSince: new Map(), blocked: new Set(), failures: new Map() };

/** How soon to look again after a volume that another node was about to take. */
const retryMs = 5000;

/**
 * Attaches to each node the volumes that its pods need, and detaches the others: a VolumeAttachment tells the driver to,
 * and the status of the node tells the kubelet that it may mount.
 */
export function attachDetachController(deps: ReconcilerDeps): Reconciler<Node> {
  const { informers, clock } = deps;
  readKinds(informers);
  informers.of(VolumeAttachment);
  const memories = new Map<string, Memory>();
  const attaching = new Map<string, string>();
  return {
    name: "persistentvolume-attach-detach",
    reconciles: Node,
    // Two nodes must not take at the same time a volume that only one can have.
    workers: 1,
    concerns: isManaged,
    watches: wakesOf(informers),

    async reconcile(node, signal) {
      const { name } = node.metadata;
      if (!isManaged(node)) return undefined;
      // What this node was about to take is visible now, or was refused.
      for (const [volume, taker] of attaching) if (taker === name) attaching.delete(volume);
      const known = memories.get(name) ?? blank;
      const run: Run = { deps, node, wanted: wantedAt(deps, name, attaching), attaching, signal };
      const attachments = attachmentsAt(informers, node);
      const nowMs = clock.now();
      const { unwantedSince } = known;
      const plan = planAttachments({ node: stateOf(node), wanted: run.wanted, attachments, unwantedSince, nowMs });
      remember(memories, name, {
        unwantedSince: new Map(
          plan.kept.map(({ metadata }) => [metadata.name, unwantedSince.get(metadata.name) ?? nowMs]),
        ),
        blocked: new Set(plan.blocked.map((one) => one.name)),
        failures: reportFailures(run, known),
      });
      reportBlocked(run, plan, known);
      await carryOut(run, plan);
      const retryAtMs = plan.blocked.some((one) => attaching.has(one.name)) ? nowMs + retryMs : undefined;
      const dueMs = Math.min(plan.dueMs ?? Infinity, retryAtMs ?? Infinity);
      return againAfter(dueMs - nowMs);
    },
    async gone({ name }) {
      memories.delete(name);
      for (const [volume, taker] of attaching) if (taker === name) attaching.delete(volume);
    },
  };
}

/** Its kubelet leaves attaching to this controller. */
export const isManaged = ({ metadata }: Node): boolean => metadata.annotations?.[managedAttachAnnotation] === "true";

function remember(memories: Map<string, Memory>, node: string, memory: Memory): void {
  if (memory.unwantedSince.size + memory.blocked.size + memory.failures.size > 0) memories.set(node, memory);
  else memories.delete(node);
}

const stateOf = ({ spec, status }: Node) => ({
  inUse: new Set(status.volumesInUse),
  isReady: isConditionTrue(status.conditions, "Ready"),
  isOutOfService: spec.taints?.some(({ key }) => key === outOfServiceTaint) ?? false,
});

interface Run {
  readonly deps: ReconcilerDeps;
  readonly node: Node;
  readonly wanted: readonly WantedVolume[];
  /** Volumes that a node is about to take, which may not be visible yet, and the node. */
  readonly attaching: Map<string, string>;
  readonly signal: AbortSignal;
}

function wantedAt({ informers }: ReconcilerDeps, node: string, attaching: ReadonlyMap<string, string>): WantedVolume[] {
  return [...volumesAt(informers, node).values()].map((one) => {
    const attachments = informers.of(VolumeAttachment).by("volume", one.volume.metadata.name);
    const takers = [...attachments.map(({ spec }) => spec.nodeName), attaching.get(one.name) ?? node];
    return { ...one, elsewhere: [...new Set(takers)].filter((taker) => taker !== node) };
  });
}

/** The status comes first: the kubelet must know that a volume is no longer its own before the volume leaves. */
async function carryOut(run: Run, { attach, detach, attached }: AttachmentPlan): Promise<void> {
  const { deps, node, attaching, signal } = run;
  await writeAttached(run, attached);
  for (const { metadata } of detach) {
    await deps.client.delete(VolumeAttachment, metadata, { signal }).catch(ignoreNotFound);
  }
  for (const { name, csi, volume } of attach) {
    attaching.set(name, node.metadata.name);
    const metadata = { name: attachmentName(csi, node.metadata.name) };
    const source = { persistentVolumeName: volume.metadata.name };
    const spec = { attacher: csi.driver, nodeName: node.metadata.name, source };
    await deps.client.create(VolumeAttachment, { metadata, spec }, { signal }).catch(ignoreExisting);
  }
}

function ignoreExisting(error: unknown): void {
  if (!isAlreadyExists(error)) throw error;
}

async function writeAttached({ deps, node, wanted, signal }: Run, attached: readonly string[]): Promise<void> {
  const { volumesAttached: before = [], ...rest } = node.status;
  const volumesAttached = attached.map((name) => ({ name, devicePath: "" }));
  if (equal(volumesAttached, before)) return;
  const status = volumesAttached.length > 0 ? { ...rest, volumesAttached } : rest;
  // A conflict is retried: the kubelet may just have said that it uses a volume.
  await deps.client.updateStatus(Node, { ...node, status }, { signal });
  const known = new Set(before.map(({ name }) => name));
  for (const { name, volume, pods } of wanted) {
    if (known.has(name) || !attached.includes(name)) continue;
    const message = `AttachVolume.Attach succeeded for volume ${JSON.stringify(volume.metadata.name)} `;
    for (const pod of pods) deps.events.event(referenceTo(Pod, pod), "Normal", "SuccessfulAttachVolume", message);
  }
}

function reportBlocked({ deps }: Run, { blocked }: AttachmentPlan, known: Memory): void {
  for (const { name, volume, pods, elsewhere } of blocked) {
    if (known.blocked.has(name)) continue;
    const users = usersOf(deps.informers, volume, elsewhere);
    for (const pod of pods) {
      const message = whyBlocked(volume.metadata.name, pod, users);
      deps.events.event(referenceTo(Pod, pod), "Warning", "FailedAttachVolume", message);
    }
  }
}

/** Tells the pods each new failure of a driver once. */
function reportFailures({ deps, node, wanted }: Run, known: Memory): Map<string, string> {
  const failures = new Map<string, string>();
  for (const { csi, volume, pods } of wanted) {
    const name = attachmentName(csi, node.metadata.name);
    const { attached, attachError } = deps.informers.of(VolumeAttachment).get({ name })?.status ?? {};
    if (attached || !attachError) continue;
    const { time = "", message = "" } = attachError;
    failures.set(name, `${time} ${message}`);
    if (known.failures.get(name) === failures.get(name)) continue;
    const text = `AttachVolume.Attach failed for volume ${JSON.stringify(volume.metadata.name)} : ${message}`;
    for (const pod of pods) deps.events.event(referenceTo(Pod, pod), "Warning", "FailedAttachVolume", text);
  }
  return failures;
}
