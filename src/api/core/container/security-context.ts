import { nullable, optional, present } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import { atomicList, boolean, int64, oneOf, string } from "#schema/types.ts";

const object = inPackage("core/v1");

/** A Unix user or group. */
const unixId = int64({ min: 0, max: 2147483647 });
const groupPolicies = oneOf("Merge", "Strict");
const profileTypes = oneOf("Localhost", "RuntimeDefault", "Unconfined");

const SELinuxOptions = object("SELinuxOptions", "The SELinux label of a container.", {
  user: optional(1, string(), "User part of the SELinux label."),
  role: optional(2, string(), "Role part of the SELinux label."),
  type: optional(3, string(), "Type part of the SELinux label."),
  level: optional(4, string(), "Level part of the SELinux label."),
});

const localhost = { discriminator: "type", fields: ["localhostProfile"] };
export const SeccompProfile = object(
  "SeccompProfile",
  { doc: "The system calls that a container may make.", union: localhost },
  {
    type: present(1, profileTypes, "Type of the seccomp profile."),
    localhostProfile: nullable(2, string(), "File of the profile in the kubelet's seccomp directory, for Localhost."),
  },
);
export interface SeccompProfile extends Infer<typeof SeccompProfile> {}

export const AppArmorProfile = object(
  "AppArmorProfile",
  { doc: "The AppArmor profile of a container.", union: localhost },
  {
    type: present(1, profileTypes, "Type of the AppArmor profile."),
    localhostProfile: nullable(2, string(), "Name of a profile that is loaded on the node, for Localhost."),
  },
);
export interface AppArmorProfile extends Infer<typeof AppArmorProfile> {}

export const WindowsSecurityContextOptions = object("WindowsSecurityContextOptions", "Settings for Windows.", {
  gmsaCredentialSpecName: nullable(1, string(), "Name of the credential spec of the group-managed service account."),
  gmsaCredentialSpec: nullable(2, string(), "Content of the credential spec of the group-managed service account."),
  runAsUserName: nullable(3, string(), "Windows user that runs the first process of the container."),
  hostProcess: nullable(4, boolean(), "Whether the container is a process of the host. All of the pod must agree."),
});
export interface WindowsSecurityContextOptions extends Infer<typeof WindowsSecurityContextOptions> {}

export const SecurityContext = object("SecurityContext", "Security settings of one container.", {
  capabilities: object.nullable(1, "Capabilities", "Linux capabilities that differ from the runtime's default set.", {
    add: optional(1, atomicList(string()), "Capabilities to add to the default set."),
    drop: optional(2, atomicList(string()), "Capabilities to drop from the default set."),
  }),
  privileged: nullable(2, boolean(), "Whether the container has the permissions of root on the node."),
  seLinuxOptions: nullable(3, SELinuxOptions, "SELinux label of the container."),
  windowsOptions: nullable(10, WindowsSecurityContextOptions, "Settings of the container for Windows."),
  runAsUser: nullable(4, unixId, "User ID of the first process; that of the image by default."),
  runAsGroup: nullable(8, unixId, "Group ID of the first process; that of the runtime by default."),
  runAsNonRoot: nullable(5, boolean(), "Whether the container must not run as root. Otherwise it is not started."),
  readOnlyRootFilesystem: nullable(6, boolean(), "Whether the root file system is read-only."),
  allowPrivilegeEscalation: nullable(7, boolean(), "Whether a process can gain more privileges than its parent has."),
  procMount: nullable(9, oneOf("Default", "Unmasked"), "How /proc is mounted. Default masks some of its paths."),
  seccompProfile: nullable(11, SeccompProfile, "System calls that the container may make."),
  appArmorProfile: nullable(12, AppArmorProfile, "AppArmor profile of the container."),
});
export interface SecurityContext extends Infer<typeof SecurityContext> {}

const Sysctl = object("Sysctl", "A kernel parameter of a pod.", {
  name: present(1, string(), "Name of the kernel parameter."),
  value: present(2, string(), "Value of the kernel parameter."),
});

export const PodSecurityContext = object("PodSecurityContext", "Security settings of all containers of a pod.", {
  seLinuxOptions: nullable(1, SELinuxOptions, "SELinux label of all containers."),
  windowsOptions: nullable(8, WindowsSecurityContextOptions, "Settings of all containers for Windows."),
  runAsUser: nullable(2, unixId, "User ID of the first process of each container; that of the image by default."),
  runAsGroup: nullable(6, unixId, "Group ID of the first process of each container; that of the runtime by default."),
  runAsNonRoot: nullable(3, boolean(), "Whether containers must not run as root. Otherwise they are not started."),
  supplementalGroups: optional(4, atomicList(unixId), "Further groups of the first process of each container."),
  supplementalGroupsPolicy: nullable(12, groupPolicies, "Whether the groups in the image count: Merge or Strict."),
  fsGroup: nullable(5, unixId, "Group that owns the pod's volumes and that all processes belong to."),
  sysctls: optional(7, atomicList(Sysctl), "Kernel parameters of the pod's namespaces."),
  fsGroupChangePolicy: nullable(9, oneOf("Always", "OnRootMismatch"), "When fsGroup changes the owner of volumes."),
  seccompProfile: nullable(10, SeccompProfile, "System calls that the containers may make."),
  appArmorProfile: nullable(11, AppArmorProfile, "AppArmor profile of all containers."),
  seLinuxChangePolicy: nullable(13, string(), "How volumes get their SELinux label. Recursive is the only value."),
});
export interface PodSecurityContext extends Infer<typeof PodSecurityContext> {}
