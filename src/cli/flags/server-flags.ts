import { type ControlPlaneOptions } from "#cluster/control-plane.ts";
import { durationSeconds, eventFlags } from "../command.ts";
import { type AdmissionValues, admissionFlags, admissionOptions } from "./admission-flags.ts";
import { type AuditValues, auditFlags, auditOf } from "./audit-flags.ts";
import { type ControllerValues, controllerFlags, controllerSettings } from "./controller-flags.ts";
import { type EtcdValues, etcdFlags, etcdSettings } from "./etcd-flags.ts";
import { type InFlightValues, inFlightFlags, inFlightOptions } from "./in-flight-flags.ts";
import { type SchedulerValues, schedulerFlags, schedulerOptions } from "./scheduler-flags.ts";
import { type SecurityValues, securityFlags, securityOptions } from "./security-flags.ts";
import { encryptionOf, type StorageValues, storageFlags } from "./storage-flags.ts";

/** The flags of every command that starts an API server, by topic. */
export const serverFlags = {
  ...admissionFlags,
  ...auditFlags,
  ...controllerFlags,
  ...etcdFlags,
  ...eventFlags,
  ...inFlightFlags,
  ...schedulerFlags,
  ...securityFlags,
  ...storageFlags,
} as const;

export interface ServerValues
  extends AdmissionValues,
    AuditValues,
    ControllerValues,
    EtcdValues,
    InFlightValues,
    SchedulerValues,
    SecurityValues,
    StorageValues {
  readonly "event-ttl": string;
}

/** What the flags ask for. Throws a UserError if one of them makes no sense. */
export async function serverOptions(values: ServerValues): Promise<Partial<ControlPlaneOptions>> {
  const etcd = await etcdSettings(values);
  return {
    admission: admissionOptions(values),
    audit: auditOf(values),
    controllers: controllerSettings(values),
    encryption: encryptionOf(values),
    eventTtlSeconds: durationSeconds(values["event-ttl"], "event-ttl"),
    inFlight: inFlightOptions(values),
    scheduler: schedulerOptions(values),
    security: securityOptions(values),
    ...(etcd ? { store: etcd } : {}),
  };
}
