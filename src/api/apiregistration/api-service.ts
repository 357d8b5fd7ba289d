import { ageColumn, column } from "#api/meta/columns.ts";
import { conditionOf, findCondition } from "#api/meta/condition.ts";
import { keepMetadata } from "#api/meta/keep-metadata.ts";
import { dns1035Label, dns1123Subdomain, pathSegmentName, portNumber } from "#api/meta/names.ts";
import { defaulted, embedded, nullable, optional, present } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import { boolean, bytes, int32, listByKey, string } from "#schema/types.ts";
import { type Cursor } from "../cursor.ts";
import { type ClusterObject, defineResource, type ObjectOf } from "../resource.ts";

const object = inPackage("apiregistration/v1");

const ServiceReference = object("ServiceReference", "The service in front of an extension API server.", {
  namespace: optional(1, string(), "Namespace of the API server's service."),
  name: optional(2, string(), "Name of the API server's service."),
  port: defaulted(3, int32(), 443, "Port of the API server's service."),
});

const APIServiceSpec = object("APIServiceSpec", "An API group and version, and the server that serves it.", {
  service: nullable(1, ServiceReference, "Service of the server; absent if this server itself serves the group."),
  group: optional(2, string(), "API group that is served."),
  version: optional(3, string(), "API version that is served, such as v1."),
  insecureSkipTLSVerify: optional(4, boolean(), "Whether the certificate of the server is not checked."),
  caBundle: optional(5, bytes(), "PEM certificates that the server's certificate must come from."),
  groupPriorityMinimum: present(7, int32(), "Lowest priority of the group, up to 20000. Clients prefer higher ones."),
  versionPriority: present(8, int32(), "Priority of the version within its group, up to 1000."),
});
interface APIServiceSpec extends Infer<typeof APIServiceSpec> {}

const APIServiceCondition = conditionOf("apiregistration/v1.APIServiceCondition", "Available", [3, 4, 5]);

const APIServiceStatus = object("APIServiceStatus", "Whether an API group and version is available.", {
  conditions: optional(1, listByKey("type", APIServiceCondition), "Conditions of the service, one for each type."),
});
interface APIServiceStatus extends Infer<typeof APIServiceStatus> {}

const fields = { spec: embedded(2, APIServiceSpec), status: embedded(3, APIServiceStatus) };
export interface APIService extends ClusterObject<typeof fields> {}

export const APIService = defineResource("apiregistration.k8s.io/v1.APIService", fields, {
  doc: "Names the server of an API group and version: this one, or another behind a service.",
  scope: "Cluster",
  categories: ["api-extensions"],
  conditionalUpdate: true,
  nameRule: pathSegmentName,
  withStatus: initialStatus,
  statusResets: { spec: true, metadata: true },
  columns: [
    column("Service", "Service of the API server.", ({ spec: { service } }) =>
      service ? `${service.namespace ?? ""}/${service.name ?? ""}` : "Local",
    ),
    column("Available", "Whether the API is available.", ({ status }) => formatAvailable(status)),
    ageColumn,
  ],

  prepareForStatusUpdate({ metadata }, { metadata: old }) {
    keepMetadata(metadata, old, "labels", "annotations", "finalizers", "ownerReferences");
  },
  validate(service) {
    validateName(service);
    validateSpec(service.field("spec"));
  },
  validateStatusUpdate(service) {
    service.field("status").each("conditions", (at) => at.field("status").oneOf(["True", "False", "Unknown"]));
  },
});

/** Whether the server of the group and version answers. */
export const isAvailable = ({ status }: APIService): boolean =>
  findCondition(status.conditions, "Available")?.status === "True";

/** What this server serves itself is available from the beginning. */
function initialStatus({ metadata, spec }: ObjectOf<typeof fields>): APIServiceStatus {
  if (spec.service) return {};
  const about = { reason: "Local", message: "Local APIServices are always available" };
  const { creationTimestamp } = metadata;
  const since = creationTimestamp === undefined ? {} : { lastTransitionTime: creationTimestamp };
  return { conditions: [{ type: "Available", status: "True", ...since, ...about }] };
}

function formatAvailable({ conditions }: APIServiceStatus): string {
  const { status = "Unknown", reason } = findCondition(conditions, "Available") ?? {};
  return status !== "True" && reason ? `${status} (${reason})` : status;
}

/** The name says which group and version it is, so that there is only one for each. */
function validateName(service: Cursor<ObjectOf<typeof fields>>): void {
  const { version = "", group = "" } = service.value.spec;
  const wanted = `${version}.${group}`;
  const at = service.field("metadata");
  for (const name of ["generateName", "name"] as const) {
    const value = at.value[name];
    if (!value || value === wanted || pathSegmentName(value) !== undefined) continue;
    at.field(name).invalid(`must be \`spec.version+"."+spec.group\`: ${JSON.stringify(wanted)}`);
  }
}

function validateSpec(at: Cursor<APIServiceSpec>): void {
  const { group, version = "", groupPriorityMinimum, versionPriority } = at.value;
  if (group) at.field("group").rule(dns1123Subdomain);
  else if (version !== "v1") at.field("group").missing("only v1 may have an empty group and it better be legacy kube");
  at.field("version").rule(dns1035Label, version);
  if (groupPriorityMinimum <= 0 || groupPriorityMinimum > 20000) {
    at.field("groupPriorityMinimum").invalid("must be positive and less than 20000");
  }
  if (versionPriority <= 0 || versionPriority > 1000) {
    at.field("versionPriority").invalid("must be positive and less than 1000");
  }
  if (at.value.service) validateRemote(at, at.value.service);
  else validateLocal(at);
}

function validateLocal(at: Cursor<APIServiceSpec>): void {
  const { caBundle, insecureSkipTLSVerify } = at.value;
  if (caBundle) {
    const size = Buffer.byteLength(caBundle, "base64");
    at.field("caBundle").invalid("local APIServices may not have a caBundle", `${size} bytes`);
  }
  if (insecureSkipTLSVerify) {
    at.field("insecureSkipTLSVerify").invalid("local APIServices may not have insecureSkipTLSVerify");
  }
}

function validateRemote(spec: Cursor<APIServiceSpec>, service: Infer<typeof ServiceReference>): void {
  const at = spec.field("service").as(service);
  at.field("namespace").required();
  at.field("name").required();
  const fault = portNumber(service.port);
  if (fault) at.field("port").invalid(`port is not valid: ${fault}`);
  if (spec.value.insecureSkipTLSVerify && spec.value.caBundle) {
    spec.field("insecureSkipTLSVerify").invalid("may not be true if caBundle is present");
  }
}
