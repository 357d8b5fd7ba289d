import {
  boolean,
  defaulted,
  type Infer,
  inline,
  nullable,
  object,
  optional,
  present,
  quantity,
  required,
  string,
} from "#schema/schema.ts";

export const ObjectFieldSelector = object(
  "core/v1.ObjectFieldSelector",
  {
    apiVersion: defaulted(1, string(), "v1", "Version in which the path is read."),
    fieldPath: present(2, string(), "Path of the field, such as metadata.name."),
  },
  { atomic: true, doc: "A field of the pod itself." },
);
export interface ObjectFieldSelector extends Infer<typeof ObjectFieldSelector> {}

export const ResourceFieldSelector = object(
  "core/v1.ResourceFieldSelector",
  {
    containerName: optional(1, string(), "The container; needed in volumes, its own by default in env."),
    resource: present(2, string(), "The resource, such as limits.cpu."),
    divisor: defaulted(3, quantity(), "0", "Unit in which the value is shown; 0 means 1."),
  },
  { atomic: true, doc: "A resource request or limit of a container." },
);
export interface ResourceFieldSelector extends Infer<typeof ResourceFieldSelector> {}

export const ConfigMapKeySelector = object(
  "core/v1.ConfigMapKeySelector",
  {
    ...inline(1, { name: optional(1, string(), "Name of the config map.") }),
    key: required(2, string(), "The key."),
    optional: nullable(3, boolean(), "Whether the config map or the key may be missing."),
  },
  { atomic: true, doc: "One key of a config map." },
);
export interface ConfigMapKeySelector extends Infer<typeof ConfigMapKeySelector> {}

export const SecretKeySelector = object(
  "core/v1.SecretKeySelector",
  {
    ...inline(1, { name: optional(1, string(), "Name of the secret.") }),
    key: required(2, string(), "The key."),
    optional: nullable(3, boolean(), "Whether the secret or the key may be missing."),
  },
  { atomic: true, doc: "One key of a secret." },
);
export interface SecretKeySelector extends Infer<typeof SecretKeySelector> {}

export const FileKeySelector = object(
  "core/v1.FileKeySelector",
  {
    volumeName: required(1, string(), "The volume that holds the file."),
    path: required(2, string(), "Path of the file in the volume; relative, and without `..`."),
    key: required(3, string(), "Name of the variable in the file."),
    optional: defaulted(4, boolean(), false, "Whether the file or the variable may be missing."),
  },
  { atomic: true, doc: "One variable of an env file in a volume." },
);
export interface FileKeySelector extends Infer<typeof FileKeySelector> {}

export const EnvVarSource = object(
  "core/v1.EnvVarSource",
  {
    fieldRef: nullable(
      1,
      ObjectFieldSelector,
      "A field of the pod: metadata.name, metadata.namespace, labels, annotations, spec.nodeName, spec.serviceAccountName or an IP.",
    ),
    resourceFieldRef: nullable(2, ResourceFieldSelector, "A request or limit of a container."),
    configMapKeyRef: nullable(3, ConfigMapKeySelector, "A key of a config map."),
    secretKeyRef: nullable(4, SecretKeySelector, "A key of a secret."),
    fileKeyRef: nullable(5, FileKeySelector, "A variable of an env file."),
  },
  { doc: "Where the value of a variable comes from; exactly one field is set." },
);
export interface EnvVarSource extends Infer<typeof EnvVarSource> {}

export const EnvVar = object(
  "core/v1.EnvVar",
  {
    name: required(1, string(), "Name of the variable."),
    value: optional(2, string(), "The value; $(NAME) stands for variables defined before, $$ for one dollar sign."),
    valueFrom: nullable(3, EnvVarSource, "Where the value comes from, if it is not given here."),
  },
  { doc: "An environment variable." },
);
export interface EnvVar extends Infer<typeof EnvVar> {}

export const ConfigMapEnvSource = object(
  "core/v1.ConfigMapEnvSource",
  {
    ...inline(1, { name: optional(1, string(), "Name of the config map.") }),
    optional: nullable(2, boolean(), "Whether the config map may be missing."),
  },
  { doc: "A config map whose keys become variables." },
);
export interface ConfigMapEnvSource extends Infer<typeof ConfigMapEnvSource> {}

export const SecretEnvSource = object(
  "core/v1.SecretEnvSource",
  {
    ...inline(1, { name: optional(1, string(), "Name of the secret.") }),
    optional: nullable(2, boolean(), "Whether the secret may be missing."),
  },
  { doc: "A secret whose keys become variables." },
);
export interface SecretEnvSource extends Infer<typeof SecretEnvSource> {}

export const EnvFromSource = object(
  "core/v1.EnvFromSource",
  {
    prefix: optional(1, string(), "Put before every name."),
    configMapRef: nullable(2, ConfigMapEnvSource, "The config map to read."),
    secretRef: nullable(3, SecretEnvSource, "The secret to read."),
  },
  { doc: "A whole set of variables." },
);
export interface EnvFromSource extends Infer<typeof EnvFromSource> {}
