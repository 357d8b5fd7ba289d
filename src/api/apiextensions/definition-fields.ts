import { conditionOf } from "#api/meta/condition.ts";
import { defaulted, embedded, nullable, optional, present, undemanded } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import { atomicList, boolean, bytes, int32, int64, list, string } from "#schema/types.ts";
import { type ClusterObject, type ObjectOf } from "../resource.ts";
import { JSONSchemaProps } from "./json-schema-props.ts";

const object = inPackage("apiextensions/v1");

const Names = object("CustomResourceDefinitionNames", "Names of a custom resource.", {
  plural: present(1, string(), "Plural name, which is part of its URLs. All lower case."),
  singular: optional(2, string(), "Singular name, all lower case. Defaults to the kind in lower case."),
  shortNames: optional(3, atomicList(string()), "Short names for kubectl, all lower case."),
  kind: present(4, string(), "Kind of the resource, in CamelCase."),
  listKind: optional(5, string(), "Kind of its lists. Defaults to the kind with List at the end."),
  categories: optional(6, atomicList(string()), "Groups of resources that it belongs to, such as all."),
});
export interface CustomResourceNames extends Infer<typeof Names> {}

const Column = object("CustomResourceColumnDefinition", "A column of the table that kubectl get prints.", {
  name: present(1, string(), "Title of the column."),
  type: present(2, string(), "Type of the values: integer, number, string, boolean or date."),
  format: optional(3, string(), "Format of the values, such as int32 or password."),
  description: optional(4, string(), "What the column shows."),
  priority: optional(5, int32(), "0 for a column that is always shown. Others are shown with -o wide."),
  jsonPath: present(6, string(), "JSON path of the value in the resource, such as .spec.replicas."),
});
export interface CustomResourceColumn extends Infer<typeof Column> {}

const ScaleSubresource = object("CustomResourceSubresourceScale", "Where a resource has its numbers of replicas.", {
  specReplicasPath: present(1, string(), "JSON path below .spec of the number that is wanted."),
  statusReplicasPath: present(2, string(), "JSON path below .status of the number that exists."),
  labelSelectorPath: nullable(3, string(), "JSON path below .spec or .status of the selector of its pods, as text."),
});

const Subresources = object("CustomResourceSubresources", "Parts of a resource with a URL of their own.", {
  status: nullable(
    1,
    object("CustomResourceSubresourceStatus", "Its presence alone enables the status subresource.", {}),
    "If present, .status is changed at /status and nowhere else.",
  ),
  scale: nullable(2, ScaleSubresource),
});

const SelectableField = object("SelectableField", "A field that field selectors can use.", {
  jsonPath: present(1, string(), "Simple JSON path of a string, boolean or integer, such as .spec.color."),
});

const Validation = object("CustomResourceValidation", "Schema of a version.", {
  openAPIV3Schema: nullable(1, JSONSchemaProps, "The structural schema by which objects are pruned and validated."),
});

const Version = object("CustomResourceDefinitionVersion", "A version of a custom resource.", {
  name: present(1, string(), "Name of the version, such as v1 or v1beta1."),
  served: present(2, boolean(), "Whether the version is served."),
  storage: present(3, boolean(), "Whether objects are stored in this version. True for exactly one version."),
  schema: nullable(4, Validation),
  subresources: nullable(5, Subresources),
  additionalPrinterColumns: optional(6, atomicList(Column), "Columns of kubectl get. Without any, the age is shown."),
  deprecated: optional(7, boolean(), "Whether every request for the version is answered with a warning."),
  deprecationWarning: nullable(8, string(), "Text of that warning, instead of the usual one."),
  selectableFields: optional(9, atomicList(SelectableField), "Fields that field selectors can use. At most 8."),
});
export interface CustomResourceVersion extends Infer<typeof Version> {}

const ServiceReference = object("ServiceReference", "The service in front of a webhook.", {
  namespace: present(1, string(), "Namespace of the webhook's service."),
  name: present(2, string(), "Name of the webhook's service."),
  path: nullable(3, string(), "Path of the URL at which the webhook is called."),
  port: defaulted(4, int32(), 443, "Port of the webhook's service."),
});

const ClientConfig = object("WebhookClientConfig", "How a webhook is reached: by a URL or a service.", {
  service: nullable(1, ServiceReference, "Service of the webhook in this cluster. Excludes url."),
  caBundle: optional(2, bytes(), "PEM certificates that the webhook's certificate must come from."),
  url: nullable(3, string(), "URL of the webhook: https://host:port/path. Excludes service."),
});

const WebhookConversion = object("WebhookConversion", "A webhook that converts objects between versions.", {
  clientConfig: nullable(2, ClientConfig),
  conversionReviewVersions: present(
    3,
    atomicList(string()),
    "Versions of ConversionReview that the webhook understands, preferred ones first.",
  ),
});

const Conversion = object("CustomResourceConversion", "How objects are converted between versions.", {
  strategy: present(1, string(), "None changes only the apiVersion. Webhook calls a webhook."),
  webhook: nullable(2, WebhookConversion, "The webhook. Required if the strategy is Webhook."),
});

const Spec = object("CustomResourceDefinitionSpec", "What a custom resource looks like and how it is served.", {
  group: present(1, string(), "API group of the resource, such as stable.example.com."),
  names: present(3, Names, "Names of the resource and its kind."),
  scope: present(4, string(), "Where the resources are: Namespaced or Cluster."),
  versions: present(7, atomicList(Version), "Versions of the resource. Newer ones are listed first in discovery."),
  conversion: nullable(9, Conversion, "How objects are converted between versions. Not at all by default."),
  preserveUnknownFields: optional(10, boolean(), "Deprecated: use x-kubernetes-preserve-unknown-fields in the schema."),
});

const Condition = conditionOf(
  "apiextensions/v1.CustomResourceDefinitionCondition",
  "NamesAccepted, Established, Terminating, NonStructuralSchema or KubernetesAPIApprovalPolicyConformant",
  [3, 4, 5],
  { observedGeneration: optional(6, int64(), "Generation of the definition that the condition was computed from.") },
);
export interface DefinitionCondition extends Infer<typeof Condition> {}

const Status = object("CustomResourceDefinitionStatus", "Whether a custom resource is served, and under which names.", {
  conditions: optional(
    1,
    list(Condition, { list: "map", keys: ["type"] }),
    "Conditions of the definition, one for each type.",
  ),
  acceptedNames: embedded(2, Names, "Names under which the resource is served. They may differ from the spec's."),
  storedVersions: undemanded(present(3, atomicList(string()), "Versions in which objects have been stored.")),
  observedGeneration: optional(4, int64(), "Generation of the definition that the status was computed from."),
});

export const definitionFields = {
  spec: present(2, Spec),
  status: embedded(3, Status),
};
/** A definition as a client sends it. */
export type SentDefinition = ObjectOf<typeof definitionFields>;
export interface CustomResourceDefinition extends ClusterObject<typeof definitionFields> {}
export interface DefinitionSpec extends Infer<typeof Spec> {}
export interface DefinitionStatus extends Infer<typeof Status> {}
export interface CustomResourceConversion extends Infer<typeof Conversion> {}
export interface CustomResourceSubresources extends Infer<typeof Subresources> {}
export interface CustomResourceSelectableField extends Infer<typeof SelectableField> {}
