import { DaemonSet } from "#api/apps/daemon-set.ts";
import { Deployment } from "#api/apps/deployment.ts";
import { ReplicaSet } from "#api/apps/replica-set.ts";
import { StatefulSet } from "#api/apps/stateful-set.ts";
import { CronJob } from "#api/batch/cron-job.ts";
import { Job } from "#api/batch/job.ts";
import { Pod } from "#api/core/pod.ts";
import { PodTemplate, type PodTemplateSpec } from "#api/core/pod-template.ts";
import { ReplicationController } from "#api/core/replication-controller.ts";
import { isAbout, objectOf } from "../object-of.ts";
import { type AdmissionRequest, type WriteType } from "../plugin.ts";

const holders = [Pod, PodTemplate, ReplicationController, ReplicaSet, Deployment, StatefulSet, DaemonSet, Job, CronJob];
const groupOf = new Map(holders.map(({ plural, group }) => [plural, group]));

/** These do not change what a pod may do. */
const harmless = new Set(["exec", "attach", "binding", "eviction", "log", "portforward", "proxy", "status"]);

/** Whether the request writes a pod, or an object with a template of pods. */
export const holdsPod = (request: WriteType): boolean =>
  groupOf.get(request.resource.plural) === request.resource.group &&
  (isAbout(Pod, request) ? !harmless.has(request.subresource) : request.subresource === "");

/** The pod of the request, or the template; undefined if the template is optional and absent. */
export const podIn = (request: AdmissionRequest): Pick<PodTemplateSpec, "metadata" | "spec"> | undefined =>
  objectOf(Pod, request) ??
  objectOf(PodTemplate, request)?.template ??
  objectOf(CronJob, request)?.spec.jobTemplate.spec.template ??
  (
    objectOf(ReplicaSet, request) ??
    objectOf(Deployment, request) ??
    objectOf(StatefulSet, request) ??
    objectOf(DaemonSet, request) ??
    objectOf(Job, request) ??
    objectOf(ReplicationController, request)
  )?.spec.template;

/** Only a new image or a new container of an existing pod can violate what the pod did not violate before. */
export function isSignificantUpdate({ spec }: Pod, { spec: old }: Pod): boolean {
  const debugging = new Map(old.ephemeralContainers?.map(({ name, image }) => [name, image]));
  return (
    differ(spec.containers, old.containers) ||
    differ(spec.initContainers ?? [], old.initContainers ?? []) ||
    (spec.ephemeralContainers ?? []).some(({ name, image }) => !debugging.has(name) || debugging.get(name) !== image)
  );
}

type Images = readonly { readonly image?: string }[];
const differ = (now: Images, old: Images): boolean =>
  now.length !== old.length || now.some(({ image }, index) => image !== old[index]?.image);
