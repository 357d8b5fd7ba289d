import { nullable, optional, present } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import { boolean, int64, list, oneOf, string } from "#schema/types.ts";

const object = inPackage("core/v1");

export const SELinuxOptions = object("SELinuxOptions", "Labels that SELinux puts on a container.", {
  user: optional(1, string(), "User part of the label."),
  role: optional(2, string(), "Role part of the label."),
  type: optional(3, string(), "Type part of the label."),
  level: optional(4, string(), "Level part of the label."),
});

export const SeccompProfile = object("SeccompProfile", "Which system calls a container may make.", {
  type: present(1, oneOf("Localhost", "RuntimeDefault", "Unconfined"), "Which profile is used."),
  localhostProfile: nullable(2, string(), "Path of the profile below the kubelet's seccomp directory."),
});
export interface SeccompProfile extends Infer<typeof SeccompProfile> {}

export const AppArmorProfile = object("AppArmorProfile", "What AppArmor lets a container do.", {
  type: present(1, oneOf("Localhost", "RuntimeDefault", "Unconfined"), "Which profile is used."),
  localhostProfile: nullable(2, string(), "Name of the loaded profile. Only with Localhost."),
});
export interface AppArmorProfile extends Infer<typeof AppArmorProfile> {}

export const WindowsSecurityContextOptions = object("WindowsSecurityContextOptions", "Settings for Windows.", {
  gmsaCredentialSpecName: nullable(1, string(), "Name of the credential spec of the group-managed service account."),
  gmsaCredentialSpec: nullable(2, string(), "The credential spec itself."),
  runAsUserName: nullable(3, string(), "Windows user that runs the first process."),
  hostProcess: nullable(4, boolean(), "Whether it runs as a process of the host. Same for all containers."),
});
export interface WindowsSecurityContextOptions extends Infer<typeof WindowsSecurityContextOptions> {}

export const Capabilities = object("Capabilities", "Linux capabilities beyond or below the runtime's default set.", {
  add: optional(1, list(string()), "Capabilities to add."),
  drop: optional(2, list(string()), "Capabilities to take away."),
});

export const SecurityContext = object("SecurityContext", "Rights of one container; they go before those of the pod.", {
  capabilities: nullable(1, Capabilities, "Capabilities to add and drop."),
  privileged: nullable(2, boolean(), "Whether the container has the rights of root on the host."),
  seLinuxOptions: nullable(3, SELinuxOptions, "SELinux labels of the container."),
  windowsOptions: nullable(10, WindowsSecurityContextOptions, "Settings for Windows."),
  runAsUser: nullable(4, int64(), "User ID of the first process; the image's own by default."),
  runAsGroup: nullable(8, int64(), "Group ID of the first process; the runtime's choice by default."),
  runAsNonRoot: nullable(5, boolean(), "Whether the container is refused if it would run as root."),
  readOnlyRootFilesystem: nullable(6, boolean(), "Whether the root file system can only be read."),
  allowPrivilegeEscalation: nullable(7, boolean(), "Whether a process can gain more rights than its parent has."),
  procMount: nullable(9, oneOf("Default", "Unmasked"), "Which type of proc mount to use; Default masks parts."),
  seccompProfile: nullable(11, SeccompProfile, "Which system calls are allowed."),
  appArmorProfile: nullable(12, AppArmorProfile, "What AppArmor allows."),
});
export interface SecurityContext extends Infer<typeof SecurityContext> {}

export const Sysctl = object("Sysctl", "A kernel parameter of the pod.", {
  name: present(1, string(), "Name of the parameter."),
  value: present(2, string(), "Value of the parameter."),
});
export interface Sysctl extends Infer<typeof Sysctl> {}

export const PodSecurityContext = object("PodSecurityContext", "Security settings of all containers of a pod.", {
  seLinuxOptions: nullable(1, SELinuxOptions, "SELinux labels of all containers."),
  windowsOptions: nullable(8, WindowsSecurityContextOptions, "Settings for Windows."),
  runAsUser: nullable(2, int64(), "User ID of the first process of each container; the image's own by default."),
  runAsGroup: nullable(6, int64(), "Group ID of the first process; the runtime's default otherwise."),
  runAsNonRoot: nullable(3, boolean(), "Whether containers are refused if they would run as root."),
  supplementalGroups: optional(4, list(int64()), "Groups added to the first process of each container."),
  supplementalGroupsPolicy: nullable(12, oneOf("Merge", "Strict"), "How supplemental groups are calculated."),
  fsGroup: nullable(5, int64(), "Group that owns the volumes that support it, and that every process belongs to."),
  sysctls: optional(7, list(Sysctl), "Kernel parameters of the pod's namespaces."),
  fsGroupChangePolicy: nullable(9, oneOf("Always", "OnRootMismatch"), "When the ownership of volumes changes."),
  seccompProfile: nullable(10, SeccompProfile, "Which system calls are allowed."),
  appArmorProfile: nullable(11, AppArmorProfile, "What AppArmor allows."),
  seLinuxChangePolicy: nullable(13, string(), "How volumes are relabeled; only Recursive is supported."),
});
export interface PodSecurityContext extends Infer<typeof PodSecurityContext> {}
