import { Namespace, type NamespaceCondition } from "#api/core/namespace.ts";
import { isFinished } from "#api/core/pod/pod-state.ts";
import { Pod } from "#api/core/pod.ts";
import { findCondition } from "#api/meta/condition.ts";
import { qualifiedName } from "#api/meta/names.ts";
import { apiVersionOf, type Resource } from "#api/resource.ts";
import { ignoreNotFound } from "#api/status.ts";
import { metadataClient } from "#client/metadata/metadata-client.ts";
import { writeStatusIfChanged } from "#controllers/shared/write-status.ts";
import { timestamp } from "#lib/async/clock.ts";
import { truncateBytes } from "#lib/text/truncate.ts";
import { type Kinds, type RemoteKinds } from "#runtime/kinds.ts";
import { againAfter, type Reconciler, type ReconcilerDeps, watch } from "#runtime/reconciler.ts";

const finalizer = "kubernetes";

export interface NamespaceOptions {
  readonly kinds: Pick<Kinds, "all">;
  readonly remoteKinds: Pick<RemoteKinds, "all" | "undescribed">;
}

/** Empties a namespace that is being deleted, then lets it go. */
export const namespaceController =
  ({ kinds, remoteKinds }: NamespaceOptions) =>
  (given: ReconcilerDeps): Reconciler<Namespace> => {
    const deps = { ...given, client: metadataClient(given.client) };
    // Our own write of the conditions wakes the namespace, but is no reason to try again earlier. Otherwise a server whose
    // faults have another text each time would keep us writing.
    const written = new Map<string, { readonly version: string | undefined; outcome(): Later }>();
    const namespaces = deps.informers.of(Namespace);
    return {
      name: "namespace",
      reconciles: Namespace,
      watches: [
        // Most namespaces wait for the last of their pods.
        watch(Pod, ({ type, object: { metadata } }) => {
          const name = metadata.namespace;
          return type === "delete" && namespaces.get({ name })?.metadata.deletionTimestamp ? [{ name }] : [];
        }),
      ],

      async reconcile(namespace, signal) {
        if (!namespace.metadata.deletionTimestamp || !namespace.spec.finalizers?.includes(finalizer)) return;
        const { name, resourceVersion } = namespace.metadata;
        const last = written.get(name);
        written.delete(name);
        if (last && last.version === resourceVersion) return last.outcome();
        const resources = deletable([...kinds.all(), ...remoteKinds.all()]);
        const undescribed = remoteKinds.undescribed();
        const content = await deleteContent(deps, { namespace, resources, undescribed }, signal);
        const updated = await writeConditions(deps, { namespace, content }, signal);
        if (!updated) return;
        const { resourceVersion: version } = updated.metadata;
        const outcome = outcomeOf(deps, content);
        if (outcome && version !== resourceVersion) written.set(name, { version, outcome });
        if (outcome) return outcome();
        await finalize(deps, updated, signal);
        return undefined;
      },

      async gone({ name }) {
        written.delete(name);
      },
    };
  };

type Later = ReturnType<typeof againAfter>;

/** Throws, or says when to try again; undefined if there is nothing left. */
function outcomeOf({ clock }: ReconcilerDeps, content: Content): (() => Later) | undefined {
  const { failures, undescribed, estimateSeconds } = content;
  // What cannot even be named cannot be deleted, so the namespace has to wait for the servers that know.
  const failure = failures[0] ?? (undescribed.length > 0 ? new Error(discoveryFailure(undescribed)) : undefined);
  if (failure) {
    return () => {
      throw failure;
    };
  }
  if (estimateSeconds === 0) return undefined;
  const dueMs = clock.now() + (Math.floor(estimateSeconds / 2) + 1) * 1000;
  return () => againAfter(Math.max(0, dueMs - clock.now()));
}

/** Pods first, so that what they use outlives them. */
function deletable(resources: readonly Resource[]): Resource[] {
  const namespaced = resources.filter(
    ({ scope, verbs, storedAs }) => scope === "Namespaced" && verbs.includes("delete") && !storedAs,
  );
  const pods = namespaced.filter(({ group, plural }) => group === "" && plural === "pods");
  return [...pods, ...namespaced.filter((resource) => !pods.includes(resource))];
}

/** What remains, and what went wrong. */
export interface Content {
  readonly remaining: Map<string, number>;
  readonly finalizers: Map<string, number>;
  readonly failures: Error[];
  /** Groups and versions whose servers do not say what they serve. */
  readonly undescribed: readonly string[];
  estimateSeconds: number;
}

interface Deleting {
  readonly namespace: Namespace;
  readonly resources: readonly Resource[];
  readonly undescribed: readonly string[];
}

async function deleteContent(
  deps: ReconcilerDeps,
  { namespace, resources, undescribed }: Deleting,
  signal: AbortSignal,
): Promise<Content> {
  const found = { remaining: new Map(), finalizers: new Map(), failures: [] };
  const content: Content = { ...found, undescribed, estimateSeconds: 0 };
  for (const resource of resources) {
    try {
      await deleteAll(deps, { namespace, resource, content }, signal);
    } catch (error) {
      if (signal.aborted) throw error;
      content.failures.push(error instanceof Error ? error : new Error(String(error)));
    }
    if (isPods(resource) && content.remaining.size > 0) break;
  }
  return content;
}

const isPods = ({ group, plural }: Resource): boolean => group === "" && plural === "pods";

/** Slightly longer than most finalizers take. */
const finalizerSeconds = 15;

async function deleteAll(
  { client, clock, informers }: ReconcilerDeps,
  { namespace, resource, content }: { namespace: Namespace; resource: Resource; content: Content },
  signal: AbortSignal,
): Promise<void> {
  const name = namespace.metadata.name;
  const deletedForMs = clock.now() - Date.parse(namespace.metadata.deletionTimestamp ?? "");
  const graceSeconds = isPods(resource) ? longestGrace(informers.of(Pod).list(name)) : 0;
  const estimate = deletedForMs >= graceSeconds * 1000 ? 0 : graceSeconds;
  await deleteItems(client, { resource, namespace: name }, signal);
  const { items, metadata } = await client.list(resource, { namespace: name, ...pageOf(resource), signal });
  if (items.length === 0) return;
  const count = items.length + (metadata.remainingItemCount ?? 0);
  content.remaining.set(`${resource.plural}.${resource.group}`, count);
  const finalizers = items.flatMap(({ metadata }) => metadata.finalizers ?? []);
  for (const found of finalizers) {
    const shown = shownFinalizer(content.finalizers, found);
    content.finalizers.set(shown, (content.finalizers.get(shown) ?? 0) + 1);
  }
  content.estimateSeconds = Math.max(content.estimateSeconds, estimate || (finalizers.length ? finalizerSeconds : 0));
  if (estimate === 0 && finalizers.length === 0) {
    const kind = `${apiVersionOf(resource)}, Resource=${resource.plural}`;
    throw new Error(`unexpected items still remain in namespace: ${name} for gvr: ${kind}`);
  }
}

/** Another server names finalizers as it likes, and others the next time. */
function shownFinalizer(known: ReadonlyMap<string, number>, found: string): string {
  if (known.has(found)) return found;
  return known.size < maxFinalizers && !qualifiedName(found) ? found : "others";
}
const maxFinalizers = 100;

/** Another server may have more objects than should be read at once. */
const pageOf = ({ isRemote }: Resource): { readonly limit?: number } => (isRemote ? { limit: 100 } : {});

const longestGrace = (pods: readonly Pod[]): number =>
  pods
    .filter((pod) => !isFinished(pod))
    .reduce((longest, { spec }) => Math.max(longest, spec.terminationGracePeriodSeconds), 0);

async function deleteItems(
  client: ReconcilerDeps["client"],
  { resource, namespace }: { readonly resource: Resource; readonly namespace: string },
  signal: AbortSignal,
): Promise<void> {
  const propagationPolicy = "Background";
  if (resource.verbs.includes("deletecollection")) {
    await client.deleteCollection(resource, { namespace, propagationPolicy, signal });
    return;
  }
  const { items } = await client.list(resource, { namespace, signal });
  for (const item of items) {
    await client.delete(resource, item, { propagationPolicy, signal }).catch(ignoreNotFound);
  }
}

/** In the words of upstream's discovery client. */
function discoveryFailure(undescribed: readonly string[]): string {
  const faults = undescribed.toSorted().map((one) => `${one}: stale GroupVersion discovery: ${one}`);
  return `unable to retrieve the complete list of server APIs: ${faults.join(", ")}`;
}

const allIsWell = [
  ["NamespaceDeletionDiscoveryFailure", "ResourcesDiscovered", "All resources successfully discovered"],
  ["NamespaceDeletionGroupVersionParsingFailure", "ParsedGroupVersions", "All legacy kube types successfully parsed"],
  [
    "NamespaceDeletionContentFailure",
    "ContentDeleted",
    "All content successfully deleted, may be waiting on finalization",
  ],
  ["NamespaceContentRemaining", "ContentRemoved", "All content successfully removed"],
  ["NamespaceFinalizersRemaining", "ContentHasNoFinalizers", "All content-preserving finalizers finished"],
] as const;

/** What conditions may hold. */
const maxMessageBytes = 32_768;
/** What another server says in an error is only a part of a message. */
const maxFailureBytes = 1024;

/** The desired conditions of the namespace, given what remains. */
export function namespaceConditions(
  current: readonly NamespaceCondition[],
  content: Content,
  nowMs: number,
): NamespaceCondition[] {
  const { remaining, finalizers, failures, undescribed } = content;
  const problems: Record<string, { reason: string; message: string }> = {};
  if (undescribed.length > 0) {
    const message = `Discovery failed for some groups, ${undescribed.length} failing: ${discoveryFailure(undescribed)}`;
    problems.NamespaceDeletionDiscoveryFailure = { reason: "DiscoveryFailed", message };
  }
  if (failures.length > 0) {
    const texts = failures.map(({ message }) => truncateBytes(message, maxFailureBytes)).sort();
    const message = `Failed to delete all resource types, ${failures.length} remaining: ${texts.join(", ")}`;
    problems.NamespaceDeletionContentFailure = { reason: "ContentDeletionFailed", message };
  }
  if (remaining.size > 0) {
    const texts = Array.from(remaining, ([resource, count]) => `${resource} has ${count} resource instances`).sort();
    const message = `Some resources are remaining: ${texts.join(", ")}`;
    problems.NamespaceContentRemaining = { reason: "SomeResourcesRemain", message };
  }
  if (finalizers.size > 0) {
    const texts = Array.from(finalizers, ([name, count]) => `${name} in ${count} resource instances`).sort();
    const message = `Some content in the namespace has finalizers remaining: ${texts.join(", ")}`;
    problems.NamespaceFinalizersRemaining = { reason: "SomeFinalizersRemain", message };
  }
  const news = allIsWell.map(([type, reason, message]) => {
    const trouble = problems[type];
    const { reason: why, message: text } = trouble ?? { reason, message };
    return { type, status: trouble ? "True" : "False", reason: why, message: truncateBytes(text, maxMessageBytes) };
  });
  return withConditions(current, news, nowMs);
}

function withConditions(
  current: readonly NamespaceCondition[],
  news: readonly NamespaceCondition[],
  nowMs: number,
): NamespaceCondition[] {
  const conditions = [...current];
  for (const condition of news) {
    const old = findCondition(conditions, condition.type);
    const since = old?.status === condition.status ? old.lastTransitionTime : undefined;
    const next = { ...condition, lastTransitionTime: since ?? timestamp(nowMs) };
    if (!old) conditions.push(next);
    else if (old.status !== next.status || old.reason !== next.reason || old.message !== next.message) {
      conditions[conditions.indexOf(old)] = next;
    }
  }
  return conditions;
}

async function writeConditions(
  deps: ReconcilerDeps,
  { namespace, content }: { readonly namespace: Namespace; readonly content: Content },
  signal: AbortSignal,
): Promise<Namespace | undefined> {
  const { conditions: current = [] } = namespace.status;
  const { remaining, failures, undescribed } = content;
  const isClean = remaining.size === 0 && failures.length === 0 && undescribed.length === 0;
  // A namespace that is deleted without delay needs no conditions.
  if (isClean && current.length === 0) return namespace;
  const conditions = namespaceConditions(current, content, deps.clock.now());
  const status = { ...namespace.status, conditions };
  return await writeStatusIfChanged(deps, { resource: Namespace, object: namespace, status }, signal);
}

async function finalize({ client }: ReconcilerDeps, namespace: Namespace, signal: AbortSignal): Promise<void> {
  const finalizers = (namespace.spec.finalizers ?? []).filter((name) => name !== finalizer);
  const spec = { ...namespace.spec, finalizers };
  const options = { subresource: "finalize", signal };
  await client.update(Namespace, { ...namespace, spec }, options).catch(ignoreNotFound);
}
