import {
  boolean,
  type Infer,
  int64,
  list,
  nullable,
  object,
  oneOf,
  optional,
  present,
  string,
} from "#schema/schema.ts";

export const SELinuxOptions = object(
  "core/v1.SELinuxOptions",
  {
    user: optional(1, string(), "User part of the label."),
    role: optional(2, string(), "Role part of the label."),
    type: optional(3, string(), "Type part of the label."),
    level: optional(4, string(), "Level part of the label."),
  },
  { doc: "Labels that SELinux puts on a container." },
);
export interface SELinuxOptions extends Infer<typeof SELinuxOptions> {}

export const SeccompProfile = object(
  "core/v1.SeccompProfile",
  {
    type: present(
      1,
      oneOf("Localhost", "RuntimeDefault", "Unconfined"),
      "Whether a file on the node, the runtime's default or nothing limits the calls.",
    ),
    localhostProfile: nullable(
      2,
      string(),
      "Path of the profile, below the kubelet's seccomp folder. Only with Localhost.",
    ),
  },
  { doc: "Which system calls a container may make." },
);
export interface SeccompProfile extends Infer<typeof SeccompProfile> {}

export const AppArmorProfile = object(
  "core/v1.AppArmorProfile",
  {
    type: present(
      1,
      oneOf("Localhost", "RuntimeDefault", "Unconfined"),
      "Whether a profile loaded on the node, the runtime's default or nothing limits the container.",
    ),
    localhostProfile: nullable(2, string(), "Name of the loaded profile. Only with Localhost."),
  },
  { doc: "What AppArmor lets a container do." },
);
export interface AppArmorProfile extends Infer<typeof AppArmorProfile> {}

export const WindowsSecurityContextOptions = object(
  "core/v1.WindowsSecurityContextOptions",
  {
    gmsaCredentialSpecName: nullable(1, string(), "Name of the credential spec of the group-managed service account."),
    gmsaCredentialSpec: nullable(2, string(), "The credential spec itself."),
    runAsUserName: nullable(3, string(), "Windows user that runs the first process."),
    hostProcess: nullable(
      4,
      boolean(),
      "Whether the container runs as a process of the host; the same for all containers of a pod.",
    ),
  },
  { doc: "Settings for Windows containers." },
);
export interface WindowsSecurityContextOptions extends Infer<typeof WindowsSecurityContextOptions> {}

export const Capabilities = object(
  "core/v1.Capabilities",
  {
    add: optional(1, list(string()), "Capabilities to add."),
    drop: optional(2, list(string()), "Capabilities to take away."),
  },
  { doc: "Linux capabilities beyond or below the runtime's default set." },
);
export interface Capabilities extends Infer<typeof Capabilities> {}

export const SecurityContext = object(
  "core/v1.SecurityContext",
  {
    capabilities: nullable(1, Capabilities, "Capabilities to add and drop."),
    privileged: nullable(2, boolean(), "Whether the container has the rights of root on the host."),
    seLinuxOptions: nullable(3, SELinuxOptions, "SELinux labels of the container."),
    windowsOptions: nullable(10, WindowsSecurityContextOptions, "Settings for Windows."),
    runAsUser: nullable(4, int64(), "User ID of the first process; the image's own by default."),
    runAsGroup: nullable(8, int64(), "Group ID of the first process; the runtime's choice by default."),
    runAsNonRoot: nullable(5, boolean(), "Whether the container is refused if it would run as root."),
    readOnlyRootFilesystem: nullable(6, boolean(), "Whether the root file system can only be read."),
    allowPrivilegeEscalation: nullable(7, boolean(), "Whether a process can gain more rights than its parent has."),
    procMount: nullable(
      9,
      oneOf("Default", "Unmasked"),
      "How much of /proc is hidden; Default hides and protects parts of it.",
    ),
    seccompProfile: nullable(11, SeccompProfile, "Which system calls are allowed."),
    appArmorProfile: nullable(12, AppArmorProfile, "What AppArmor allows."),
  },
  { doc: "Rights of one container; they go before those of the pod." },
);
export interface SecurityContext extends Infer<typeof SecurityContext> {}

export const Sysctl = object(
  "core/v1.Sysctl",
  { name: present(1, string(), "Name of the parameter."), value: present(2, string(), "Value of the parameter.") },
  { doc: "A kernel parameter of the pod." },
);
export interface Sysctl extends Infer<typeof Sysctl> {}

export const PodSecurityContext = object(
  "core/v1.PodSecurityContext",
  {
    seLinuxOptions: nullable(1, SELinuxOptions, "SELinux labels of all containers."),
    windowsOptions: nullable(8, WindowsSecurityContextOptions, "Settings for Windows."),
    runAsUser: nullable(2, int64(), "User ID of the first process of each container; the image's own by default."),
    runAsGroup: nullable(
      6,
      int64(),
      "Group ID of the first process of each container; the runtime's choice by default.",
    ),
    runAsNonRoot: nullable(3, boolean(), "Whether containers are refused if they would run as root."),
    supplementalGroups: optional(4, list(int64()), "Groups added to the first process of each container."),
    supplementalGroupsPolicy: nullable(
      12,
      oneOf("Merge", "Strict"),
      "Whether groups that the image gives the user are added too; Merge by default.",
    ),
    fsGroup: nullable(5, int64(), "Group that owns the volumes that support it, and that every process belongs to."),
    sysctls: optional(7, list(Sysctl), "Kernel parameters of the pod's namespaces."),
    fsGroupChangePolicy: nullable(
      9,
      oneOf("Always", "OnRootMismatch"),
      "Whether ownership of a volume is always changed, or only if its root differs; Always by default.",
    ),
    seccompProfile: nullable(10, SeccompProfile, "Which system calls are allowed."),
    appArmorProfile: nullable(11, AppArmorProfile, "What AppArmor allows."),
    seLinuxChangePolicy: nullable(
      13,
      string(),
      "How volumes get their label: Recursive, file by file, is the one way that is switched on.",
    ),
  },
  { doc: "Rights shared by all containers of a pod, and settings of its volumes." },
);
export interface PodSecurityContext extends Infer<typeof PodSecurityContext> {}
