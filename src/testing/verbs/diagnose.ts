import { allResources } from "#api/all.ts";
import { Event } from "#api/core/event.ts";
import { isFinished, isReady } from "#api/core/pod/pod-state.ts";
import { Pod } from "#api/core/pod.ts";
import { apiVersionOf, groupResource, type Resource } from "#api/resource.ts";
import { renderExplanation } from "#cli/print/explanation.ts";
import { renderWaterfall } from "#cli/print/waterfall.ts";
import { findKind } from "#cli/target.ts";
import type { Client } from "#client/client.ts";
import { messageOf } from "#lib/text/message-of.ts";
import type { StoreEvent } from "#store/store.ts";
import type { TraceAnswer } from "#trace/answers.ts";
import { explain } from "#why/explain.ts";
import { gather } from "#why/gather.ts";

/** An object of the cluster, or its name as `pod/web` or, outside the namespace default, `shop/pod/web`. */
export type Target =
  | string
  | {
      readonly apiVersion?: string;
      readonly kind?: string;
      readonly metadata: { readonly name?: string; readonly namespace?: string };
    };

interface Subject {
  readonly resource: Resource;
  readonly namespace: string;
  readonly name: string;
}

async function subjectOf(client: Client, target: Target): Promise<Subject> {
  if (typeof target !== "string") {
    const { apiVersion, kind = "", metadata } = target;
    const known = allResources.find((one) => one.kind === kind && apiVersionOf(one) === apiVersion);
    const resource = known ?? (await findKind(client, kind));
    return { resource, namespace: metadata.namespace ?? "", name: metadata.name ?? "" };
  }
  const parts = target.split("/");
  const [kind = "", name = ""] = parts.slice(-2);
  if (parts.length < 2 || parts.length > 3 || !kind || !name) {
    throw new Error(`name an object as "pod/web" or "NAMESPACE/pod/web", not ${JSON.stringify(target)}`);
  }
  const namespace = parts.length === 3 ? (parts[0] ?? "") : "default";
  return { resource: await findKind(client, kind), namespace, name };
}

/** Where an object is stuck and why, as `orlop why` says it. */
export async function whyOf(client: Client, target: Target, nowMs: number): Promise<string> {
  return renderExplanation(explain(await gather(client, await subjectOf(client, target), nowMs)));
}

/** Where the last apply of an object spent its time, as `orlop trace` shows it. */
export async function traceOf(client: Client, target: Target): Promise<string> {
  const { resource, namespace, name } = await subjectOf(client, target);
  const place = resource.scope === "Namespaced" ? namespace : "-";
  const path = [groupResource(resource, resource.plural), place, name].map(encodeURIComponent).join("/");
  const { status, body } = await client.raw("GET", `/orlop/trace/${path}`);
  const text = Buffer.from(body).toString();
  if (status !== 200) throw new Error(`the server does not tell the trace of ${resource.kind} ${name}: ${text}`);
  const answer = JSON.parse(text) as TraceAnswer;
  if (answer.hops.length === 0) return `there is no trace of ${resource.kind} ${name}\n`;
  return `${renderWaterfall(answer, { width: 140, all: false })}\n`;
}

/** The events about an object, or all of them, oldest first. */
export async function eventsOf(client: Client, target?: Target): Promise<readonly Event[]> {
  const { items } = await client.list(Event);
  const sorted = items.toSorted(
    (a, b) => timeOf(a) - timeOf(b) || Number(a.metadata.resourceVersion) - Number(b.metadata.resourceVersion),
  );
  if (target === undefined) return sorted;
  const { resource, namespace, name } = await subjectOf(client, target);
  return sorted.filter(
    ({ involvedObject: about }) =>
      about.kind === resource.kind &&
      about.name === name &&
      (about.namespace ?? "") === (resource.scope === "Namespaced" ? namespace : ""),
  );
}

const timeOf = ({ firstTimestamp, eventTime, metadata }: Event): number =>
  Date.parse(firstTimestamp ?? eventTime ?? metadata.creationTimestamp ?? "") || 0;

/** Counts the changes of every object while settle() waits. */
export class Changes {
  readonly #counts = new Map<string, number>();

  note({ key }: StoreEvent): void {
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
  }

  /** The objects that changed most, as `pods/default/web (12 times)`. */
  get busiest(): string[] {
    const sorted = [...this.#counts].toSorted(([, a], [, b]) => b - a).slice(0, maxNamed);
    return sorted.map(([key, count]) => `${key.replace("/registry/", "")} (${count} times)`);
  }
}

const maxNamed = 5;
const maxExplained = 3;

/** What a test wants to see when its cluster is not as it should be: pods that are not ready, and warnings. */
export async function diagnose(client: Client, nowMs: number): Promise<string> {
  try {
    const { items } = await client.list(Pod);
    const stuck = items.filter((pod) => !isReady(pod) && !isFinished(pod));
    const reasons = await Promise.all(
      stuck
        .slice(0, maxExplained)
        .map((pod) => whyOf(client, { kind: "Pod", apiVersion: "v1", metadata: pod.metadata }, nowMs)),
    );
    const more = stuck.length > maxExplained ? [`${stuck.length - maxExplained} more pods are not ready`] : [];
    const warnings = (await eventsOf(client)).filter(({ type }) => type === "Warning").slice(-maxNamed);
    const told = warnings.map(
      ({ involvedObject: about, reason, message }) =>
        `${about.kind} ${about.namespace}/${about.name}: ${reason}: ${message}`,
    );
    return [
      "",
      ...reasons,
      ...more,
      ...(told.length > 0 ? ["warnings:", ...told.map((line) => `  ${line}`)] : []),
    ].join("\n");
  } catch (error) {
    return `\n(the cluster could not be asked why: ${messageOf(error)})`;
  }
}
