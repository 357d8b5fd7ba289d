import { defaulted, inline, nullable, optional, present, required } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import { boolean, quantity, string } from "#schema/types.ts";

const object = inPackage("core/v1");

export const ObjectFieldSelector = object.atomic("ObjectFieldSelector", "A field of the pod itself.", {
  apiVersion: defaulted(1, string(), "v1", "Version in which the path is read."),
  fieldPath: present(2, string(), "Path of the field, such as metadata.name."),
});
export interface ObjectFieldSelector extends Infer<typeof ObjectFieldSelector> {}

export const ResourceFieldSelector = object.atomic("ResourceFieldSelector", "A container's resource or limit.", {
  containerName: optional(1, string(), "The container; needed in volumes, its own by default in env."),
  resource: present(2, string(), "The resource, such as limits.cpu."),
  divisor: defaulted(3, quantity(), "0", "Unit in which the value is shown; 0 means 1."),
});
export interface ResourceFieldSelector extends Infer<typeof ResourceFieldSelector> {}

export const ConfigMapKeySelector = object.atomic("ConfigMapKeySelector", "One key of a config map.", {
  ...inline(1, { name: optional(1, string(), "Name of the config map.") }),
  key: required(2, string(), "The key to select."),
  optional: nullable(3, boolean(), "Whether the config map or the key may be missing."),
});

export const SecretKeySelector = object.atomic("SecretKeySelector", "One key of a secret.", {
  ...inline(1, { name: optional(1, string(), "Name of the secret.") }),
  key: required(2, string(), "The key to select."),
  optional: nullable(3, boolean(), "Whether the secret or the key may be missing."),
});

export const FileKeySelector = object.atomic("FileKeySelector", "One variable of an env file in a volume.", {
  volumeName: required(1, string(), "The volume that holds the file."),
  path: required(2, string(), "Path of the file in the volume; relative, and without `..`."),
  key: required(3, string(), "Name of the variable in the file."),
  optional: defaulted(4, boolean(), false, "Whether the file or the variable may be missing."),
});
export interface FileKeySelector extends Infer<typeof FileKeySelector> {}

export const EnvVarSource = object("EnvVarSource", "The source of a variable's value. Exactly one field is set.", {
  fieldRef: nullable(1, ObjectFieldSelector, "A field of the pod, such as metadata.name or status.podIP."),
  resourceFieldRef: nullable(2, ResourceFieldSelector, "A request or limit of a container."),
  configMapKeyRef: nullable(3, ConfigMapKeySelector, "A key of a config map."),
  secretKeyRef: nullable(4, SecretKeySelector, "A key of a secret."),
  fileKeyRef: nullable(5, FileKeySelector, "A variable of an env file."),
});
export interface EnvVarSource extends Infer<typeof EnvVarSource> {}

export const EnvVar = object("EnvVar", "An environment variable.", {
  name: required(1, string(), "Name of the variable."),
  value: optional(2, string(), "The value; $(NAME) stands for variables defined before, $$ for one dollar sign."),
  valueFrom: nullable(3, EnvVarSource, "Where the value comes from, if it is not given here."),
});
export interface EnvVar extends Infer<typeof EnvVar> {}

export const ConfigMapEnvSource = object("ConfigMapEnvSource", "A config map whose keys become variables.", {
  ...inline(1, { name: optional(1, string(), "Name of the config map.") }),
  optional: nullable(2, boolean(), "Whether the config map may be missing."),
});

export const SecretEnvSource = object("SecretEnvSource", "A secret whose keys become variables.", {
  ...inline(1, { name: optional(1, string(), "Name of the secret.") }),
  optional: nullable(2, boolean(), "Whether the secret may be missing."),
});

export const EnvFromSource = object("EnvFromSource", "A whole set of variables.", {
  prefix: optional(1, string(), "Put before every name."),
  configMapRef: nullable(2, ConfigMapEnvSource, "The config map to read."),
  secretRef: nullable(3, SecretEnvSource, "The secret to read."),
});
export interface EnvFromSource extends Infer<typeof EnvFromSource> {}
