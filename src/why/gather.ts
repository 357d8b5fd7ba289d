import { APIService } from "#api/apiregistration/api-service.ts";
import { DaemonSet } from "#api/apps/daemon-set.ts";
import { Deployment } from "#api/apps/deployment.ts";
import { ReplicaSet } from "#api/apps/replica-set.ts";
import { StatefulSet } from "#api/apps/stateful-set.ts";
import { HorizontalPodAutoscaler } from "#api/autoscaling/horizontal-pod-autoscaler.ts";
import { CronJob } from "#api/batch/cron-job.ts";
import { parseCronSchedule } from "#api/batch/cron-schedule.ts";
import { nextDueMs } from "#api/batch/cron-times.ts";
import { Job } from "#api/batch/job.ts";
import { CertificateSigningRequest } from "#api/certificates/certificate-signing-request.ts";
import { Lease } from "#api/coordination/lease.ts";
import { Event } from "#api/core/event.ts";
import { Node } from "#api/core/node.ts";
import { PersistentVolumeClaim } from "#api/core/persistent-volume/persistent-volume-claim.ts";
import { isFinished, isReady } from "#api/core/pod/pod-state.ts";
import { Pod } from "#api/core/pod.ts";
import { ReplicationController } from "#api/core/replication-controller.ts";
import { ResourceQuota } from "#api/core/resource-quota.ts";
import { Service } from "#api/core/service.ts";
import { EndpointSlice } from "#api/discovery/endpoint-slice.ts";
import { matchesLabels } from "#api/meta/label-selector.ts";
import { isControlledBy } from "#api/meta/owner.ts";
import { matches } from "#api/meta/selector-matchers.ts";
import { Ingress } from "#api/networking/ingress.ts";
import { PodDisruptionBudget } from "#api/policy/pod-disruption-budget.ts";
import { type ApiObject } from "#api/resource.ts";
import { isForbidden, isNotFound, StatusError } from "#api/status.ts";
import { nodeLeaseNamespace, revisionAnnotation } from "#api/well-known.ts";
import { type Client } from "#client/client.ts";
import { type VerdictsAnswer } from "#trace/answers.ts";
import { type ClaimReader, gatherClaim, openClaims } from "./claims.ts";
import {
  type CronJobFacts,
  type Facts,
  type JobFacts,
  type PodFacts,
  type SeenEvent,
  type ServiceFacts,
  type Workload,
  type WorkloadFacts,
} from "./facts.ts";
import { historyOf, readOwn, type Subject } from "./history.ts";
import { gatherIngress, type IngressReader } from "./ingress/gather-ingress.ts";
import { isUnreadable } from "./object/unreadable.ts";
import { hasRestarted, partsOf } from "./pod/pod-parts.ts";
import { missingReferences } from "./pod/references.ts";
import { roomsOf } from "./rooms.ts";
import { msOf } from "./times.ts";

/** Reads everything that an explanation could need, through the API and nothing else. */
export async function gather(client: Client, subject: Subject, nowMs: number): Promise<Facts> {
  const { resource, namespace, name } = subject;
  const gatherer = new Gatherer(client, nowMs);
  const ref = resource.scope === "Namespaced" ? { namespace, name } : { name };
  const object = await orUnreadable(orAbsent(client.get(resource, ref)));
  if (object instanceof StatusError) return { about: "unreadable", resource, name, message: object.message };
  const { changes, ...past } = await historyOf(client, subject);
  if (!object) return { about: "absent", nowMs, ...subject, ...past };
  const facts = await gatherFor(gatherer, subject, { object, nowMs });
  return { ...facts, admission: { nowMs, changes, refusal: past.refusal } };
}

async function gatherFor(
  gatherer: Gatherer,
  { resource, name }: Subject,
  { object, nowMs }: { readonly object: ApiObject; readonly nowMs: number },
): Promise<Facts> {
  const { schema } = resource;
  const hasOwnEnd = schema === Pod.schema || schema === PersistentVolumeClaim.schema;
  if (object.metadata.deletionTimestamp && !hasOwnEnd) return { about: "object", nowMs, resource, object };
  switch (schema) {
    case Pod.schema:
      return { about: "pod", ...(await gatherer.pod(object as Pod)) };
    case DaemonSet.schema:
    case Deployment.schema:
    case ReplicaSet.schema:
    case ReplicationController.schema:
    case StatefulSet.schema: {
      const workload = { kind: resource.kind, object } as unknown as Workload;
      return { about: "workload", ...(await gatherer.workload(workload)) };
    }
    case Job.schema:
      return { about: "job", ...(await gatherer.job(object as Job)) };
    case CronJob.schema:
      return { about: "cronJob", ...(await gatherer.cronJob(object as CronJob)) };
    case Service.schema:
      return { about: "service", ...(await gatherer.service(object as Service)) };
    case Ingress.schema: {
      const ingress = object as Ingress;
      return { about: "ingress", ...(await gatherIngress(gatherer.ingressReader(ingress), ingress)) };
    }
    case Node.schema:
      return { about: "node", nowMs, node: object as Node, ...(await gatherer.node(name)) };
    case ResourceQuota.schema:
      return { about: "quota", quota: object as ResourceQuota };
    case PodDisruptionBudget.schema:
      return { about: "budget", budget: object as PodDisruptionBudget };
    case APIService.schema:
      return { about: "apiService", apiService: object as APIService };
    case HorizontalPodAutoscaler.schema:
      return { about: "autoscaler", autoscaler: object as HorizontalPodAutoscaler };
    case CertificateSigningRequest.schema:
      return { about: "certificate", request: object as CertificateSigningRequest };
    case PersistentVolumeClaim.schema: {
      const claim = object as PersistentVolumeClaim;
      return { about: "claim", ...(await gatherClaim(gatherer.claimReader, claim)) };
    }
    default:
      return { about: "object", nowMs, resource, object, events: await gatherer.eventsIfAllowed(object) };
  }
}

/** How many pods are examined in full. One usually represents all. */
const maxStuck = 3;
const logLines = 10;

class Gatherer {
  readonly #client: Client;
  readonly #nowMs: number;

  constructor(client: Client, nowMs: number) {
    this.#client = client;
    this.#nowMs = nowMs;
  }

  ingressReader(ingress: Ingress): IngressReader {
    const service = (one: Service) => this.service(one);
    return { client: this.#client, events: () => this.#events(ingress), service };
  }

  get claimReader(): ClaimReader {
    return { client: this.#client, nowMs: this.#nowMs, events: (claim) => this.#events(claim) };
  }

  /** Whoever may read an object of some kind need not be allowed to read events. */
  async eventsIfAllowed(object: ApiObject): Promise<SeenEvent[]> {
    try {
      return await this.#events(object);
    } catch (error) {
      if (isForbidden(error)) return [];
      throw error;
    }
  }

  async pod(pod: Pod): Promise<PodFacts> {
    const { nodeName } = pod.spec;
    const { namespace } = pod.metadata;
    const isOpen = !isReady(pod) || partsOf(pod).some((part) => hasRestarted(part, this.#nowMs));
    const [events, node, heartbeatMs, rooms, verdicts, missing, logs, services, claims] = await Promise.all([
      this.#events(pod),
      nodeName ? orAbsent(this.#client.get(Node, { name: nodeName })) : undefined,
      nodeName ? this.#heartbeat(nodeName) : undefined,
      nodeName ? [] : roomsOf(this.#client),
      nodeName ? noVerdicts : this.#verdicts(pod),
      isOpen && nodeName ? missingReferences(this.#client, pod) : [],
      isOpen ? this.#logs(pod) : new Map<string, readonly string[]>(),
      isReady(pod) ? this.#servicesOf(pod, namespace) : [],
      nodeName ? [] : openClaims(this.claimReader, pod),
    ]);
    const { attempts, queue }: Partial<VerdictsAnswer> = verdicts ?? {};
    const seen = { pod, events, node, heartbeatMs, rooms, attempts, queue };
    return { nowMs: this.#nowMs, ...seen, missing, logs, services, claims };
  }

  async workload({ kind, object }: Workload): Promise<WorkloadFacts> {
    const { namespace } = object.metadata;
    const isDeployment = kind === "Deployment";
    const [{ items: allSets }, { items: allPods }] = await Promise.all([
      isDeployment ? this.#client.list(ReplicaSet, { namespace }) : { items: [] },
      this.#client.list(Pod, { namespace }),
    ]);
    const sets = allSets.filter((set) => isControlledBy(set, object));
    const owners: readonly ApiObject[] = isDeployment ? sets : [object];
    const pods = allPods.filter((pod) => owners.some((owner) => isControlledBy(pod, owner)));
    const newest = sets.toSorted(byRevision).at(-1);
    return {
      nowMs: this.#nowMs,
      kind,
      object,
      events: await this.#events(object),
      newest,
      newestEvents: newest ? await this.#events(newest) : [],
      pods: pods.filter(({ metadata }) => !metadata.deletionTimestamp),
      stuck: await this.#stuck(pods),
    };
  }

  /** All facts about the first few pods that should be ready and are not. */
  async #stuck(pods: readonly Pod[]): Promise<PodFacts[]> {
    const waiting = pods.filter((pod) => !isReady(pod) && !pod.metadata.deletionTimestamp).slice(0, maxStuck);
    return await Promise.all(waiting.map((pod) => this.pod(pod)));
  }

  async job(job: Job): Promise<JobFacts> {
    const { namespace } = job.metadata;
    const { items } = await this.#client.list(Pod, { namespace });
    const pods = items.filter((pod) => isControlledBy(pod, job));
    const failed = newestOf(pods.filter(({ status }) => status.phase === "Failed"));
    return {
      nowMs: this.#nowMs,
      job,
      events: await this.#events(job),
      pods,
      failed: failed && (await this.pod(failed)),
      stuck: await this.#stuck(pods.filter((pod) => !isFinished(pod))),
    };
  }

  async cronJob(cronJob: CronJob): Promise<CronJobFacts> {
    const { namespace } = cronJob.metadata;
    const { items } = await this.#client.list(Job, { namespace });
    const jobs = items.filter((job) => isControlledBy(job, cronJob));
    return {
      nowMs: this.#nowMs,
      cronJob,
      events: await this.#events(cronJob),
      nextMs: nextOf(cronJob, this.#nowMs),
      lastJob: newestOf(jobs),
    };
  }

  async service(service: Service): Promise<ServiceFacts> {
    const { namespace, name } = service.metadata;
    const [{ items: pods }, slices, events] = await Promise.all([
      this.#client.list(Pod, { namespace }),
      this.#slices(namespace, name),
      this.#events(service),
    ]);
    const facts = { ...serviceFacts(service, pods, slices), events };
    const waiting = facts.pods.some(isReady) ? undefined : facts.pods[0];
    return waiting ? { ...facts, stuck: await this.pod(waiting) } : facts;
  }

  async node(name: string): Promise<{ heartbeatMs: number | undefined; events: readonly SeenEvent[] }> {
    const fieldSelector = `involvedObject.kind=Node,involvedObject.name=${name}`;
    const [heartbeatMs, { items }] = await Promise.all([
      this.#heartbeat(name),
      this.#client.list(Event, { fieldSelector }),
    ]);
    return { heartbeatMs, events: items.map(seen).sort(byTime) };
  }

  async #events(object: ApiObject): Promise<SeenEvent[]> {
    const { namespace = "", uid = "" } = object.metadata;
    const { items } = await this.#client.list(Event, { namespace, fieldSelector: `involvedObject.uid=${uid}` });
    return items.map(seen).sort(byTime);
  }

  async #heartbeat(nodeName: string): Promise<number | undefined> {
    const lease = await orAbsent(this.#client.get(Lease, { namespace: nodeLeaseNamespace, name: nodeName }));
    return msOf(lease?.spec.renewTime);
  }

  async #verdicts({ metadata }: Pod): Promise<VerdictsAnswer | undefined> {
    const path = [metadata.namespace, metadata.name, metadata.uid]
      .map((part) => encodeURIComponent(part ?? ""))
      .join("/");
    return await readOwn<VerdictsAnswer>(this.#client, `/orlop/verdicts/${path}`);
  }

  async #logs(pod: Pod): Promise<ReadonlyMap<string, readonly string[]>> {
    const ended = partsOf(pod).filter(({ status }) => status?.lastState.terminated ?? status?.state.terminated);
    const { namespace, name } = pod.metadata;
    const entries = ended.map(async ({ container, status }) => {
      const previous = status?.state.terminated ? "" : "&previous=true";
      const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(name)}/log`;
      const query = `container=${encodeURIComponent(container.name)}&tailLines=${logLines}${previous}`;
      const answer = await this.#client.raw("GET", `${path}?${query}`).catch(() => undefined);
      const text = answer?.status === 200 ? Buffer.from(answer.body).toString() : "";
      return [container.name, text.split("\n").filter(Boolean)] as const;
    });
    return new Map(await Promise.all(entries));
  }

  async #servicesOf(pod: Pod, namespace: string): Promise<ServiceFacts[]> {
    const [{ items: services }, { items: pods }] = await Promise.all([
      this.#client.list(Service, { namespace }),
      this.#client.list(Pod, { namespace }),
    ]);
    const own = services.filter(
      ({ spec: { selector = {} } }) => Object.keys(selector).length > 0 && matchesLabels(selector, pod.metadata.labels),
    );
    return await Promise.all(
      own.map(async (service) => serviceFacts(service, pods, await this.#slices(namespace, service.metadata.name))),
    );
  }

  async #slices(namespace: string, service: string): Promise<readonly EndpointSlice[]> {
    const labelSelector = `kubernetes.io/service-name=${service}`;
    return (await this.#client.list(EndpointSlice, { namespace, labelSelector })).items;
  }
}

function serviceFacts(service: Service, all: readonly Pod[], slices: readonly EndpointSlice[]): ServiceFacts {
  const { selector = {} } = service.spec;
  const alive = all.filter(({ metadata }) => !metadata.deletionTimestamp);
  const labels = Object.entries(selector);
  const pods =
    labels.length > 0 ? alive.filter(({ metadata }) => matches({ matchLabels: selector }, metadata.labels)) : [];
  const score = ({ metadata }: Pod): number =>
    labels.reduce((sum, [key, value]) => sum + likeness(metadata.labels?.[key], value), 0);
  const near = alive.filter((pod) => !pods.includes(pod) && score(pod) > 0).sort((a, b) => score(b) - score(a));
  return { service, pods, near: near.slice(0, 3), slices, stuck: undefined };
}

/** 3 for an equal value, more than 1 for a common beginning, 1 if only the key exists, 0 if not even that. */
function likeness(has: string | undefined, wanted: string): number {
  if (has === undefined) return 0;
  if (has === wanted) return 3;
  const longest = Math.max(has.length, wanted.length);
  let same = 0;
  while (same < longest && has[same] === wanted[same]) same++;
  return 1 + same / longest;
}

function seen(event: Event): SeenEvent {
  const { type = "", reason = "", message = "", count, series, involvedObject } = event;
  const last = series?.lastObservedTime ?? event.lastTimestamp ?? event.eventTime ?? event.metadata.creationTimestamp;
  return {
    type,
    reason,
    message: message.trim(),
    count: series?.count ?? count ?? 1,
    lastMs: msOf(last),
    fieldPath: involvedObject.fieldPath ?? "",
  };
}

const createdAt = ({ metadata }: ApiObject): string => metadata.creationTimestamp ?? "";
const newestOf = <T extends ApiObject>(objects: readonly T[]): T | undefined =>
  objects.toSorted((a, b) => (createdAt(a) < createdAt(b) ? -1 : 1)).at(-1);

/** The API has checked the schedule, but one from an older release may not be readable. */
function nextOf({ spec }: CronJob, nowMs: number): number | undefined {
  try {
    return nextDueMs(parseCronSchedule(spec.schedule), nowMs, spec.timeZone ?? "UTC");
  } catch {
    return undefined;
  }
}

const byTime = (a: SeenEvent, b: SeenEvent): number => (a.lastMs ?? 0) - (b.lastMs ?? 0);

const byRevision = (a: ReplicaSet, b: ReplicaSet): number =>
  Number(a.metadata.annotations?.[revisionAnnotation] ?? 0) - Number(b.metadata.annotations?.[revisionAnnotation] ?? 0);

async function orAbsent<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/** The error itself if the object exists and the server cannot decrypt it. */
async function orUnreadable<T>(call: Promise<T>): Promise<T | StatusError> {
  try {
    return await call;
  } catch (error) {
    if (error instanceof StatusError && isUnreadable(error.message)) return error;
    throw error;
  }
}

const noVerdicts: VerdictsAnswer = { attempts: [] };
