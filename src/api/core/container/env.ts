import { dns1123Label, envVarName } from "#api/meta/names.ts";
import { defaulted, inline, nullable, optional, present, required, stated } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import { boolean, quantity, string } from "#schema/types.ts";

const object = inPackage("core/v1");

export const ObjectFieldSelector = object.atomic("ObjectFieldSelector", "A field of the pod.", {
  apiVersion: defaulted(1, string(), "v1", "API version in which fieldPath is written."),
  fieldPath: present(2, string(), "Path of the field, such as metadata.name."),
});
export interface ObjectFieldSelector extends Infer<typeof ObjectFieldSelector> {}

export const ResourceFieldSelector = object.atomic("ResourceFieldSelector", "A request or limit of a container.", {
  containerName: optional(1, string(), "Name of the container. Required in volumes; the container itself in env."),
  resource: present(2, string(), "Request or limit to select, such as limits.cpu."),
  divisor: defaulted(3, quantity(), "0", "Unit that the amount is divided by; 0 stands for 1."),
});
export interface ResourceFieldSelector extends Infer<typeof ResourceFieldSelector> {}

export const FileKeySelector = object.atomic("FileKeySelector", "A variable of an env file in a volume.", {
  volumeName: required(1, string(dns1123Label), "Name of the volume that holds the env file."),
  path: required(2, string(), "Path of the env file in the volume. Must be relative and cannot contain `..`."),
  key: required(3, string(envVarName), "Name of the variable in the env file."),
  optional: stated(defaulted(4, boolean(), false, "Whether the env file or the variable may be missing.")),
});

const configMapName = inline(1, { name: stated(optional(1, string(), "Name of the ConfigMap."), "") });
const secretName = inline(1, { name: stated(optional(1, string(), "Name of the Secret."), "") });

export const EnvVarSource = object("EnvVarSource", "The source of a variable. Exactly one field is set.", {
  fieldRef: nullable(1, ObjectFieldSelector, "Field of the pod, such as metadata.name or status.podIP."),
  resourceFieldRef: nullable(2, ResourceFieldSelector, "Request or limit of a container."),
  configMapKeyRef: object.atomic.nullable(3, "ConfigMapKeySelector", "Key of a ConfigMap.", {
    ...configMapName,
    key: required(2, string(), "Key of the ConfigMap."),
    optional: nullable(3, boolean(), "Whether the ConfigMap or its key may be missing."),
  }),
  secretKeyRef: object.atomic.nullable(4, "SecretKeySelector", "Key of a Secret.", {
    ...secretName,
    key: required(2, string(), "Key of the Secret."),
    optional: nullable(3, boolean(), "Whether the Secret or its key may be missing."),
  }),
  fileKeyRef: nullable(5, FileKeySelector, "Variable of an env file in a volume."),
});
export interface EnvVarSource extends Infer<typeof EnvVarSource> {}

export const EnvVar = object("EnvVar", "An environment variable.", {
  name: required(1, string(envVarName), "Name of the variable."),
  value: optional(2, string(), "Value of the variable. $(NAME) is replaced by an earlier variable, $$ by one $."),
  valueFrom: nullable(3, EnvVarSource, "Source of the value, if value is empty."),
});
export interface EnvVar extends Infer<typeof EnvVar> {}

export const EnvFromSource = object("EnvFromSource", "A ConfigMap or Secret whose keys become variables.", {
  prefix: optional(1, string(envVarName), "Text that is put in front of every name."),
  configMapRef: object.nullable(2, "ConfigMapEnvSource", "ConfigMap whose keys become variables.", {
    ...configMapName,
    optional: nullable(2, boolean(), "Whether the ConfigMap may be missing."),
  }),
  secretRef: object.nullable(3, "SecretEnvSource", "Secret whose keys become variables.", {
    ...secretName,
    optional: nullable(2, boolean(), "Whether the Secret may be missing."),
  }),
});
export interface EnvFromSource extends Infer<typeof EnvFromSource> {}
