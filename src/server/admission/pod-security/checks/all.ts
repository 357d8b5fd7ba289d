import { appArmor } from "./app-armor.ts";
import { defaultCapabilities, droppedCapabilities } from "./capabilities.ts";
import { type Check } from "./check.ts";
import { hostNamespaces } from "./host-namespaces.ts";
import { hostPorts } from "./host-ports.ts";
import { hostProbes } from "./host-probes.ts";
import { privilegeEscalation } from "./privilege-escalation.ts";
import { privileged } from "./privileged.ts";
import { procMount, restrictedProcMount } from "./proc-mount.ts";
import { runAsNonRoot, runAsUser } from "./run-as.ts";
import { seLinux } from "./se-linux.ts";
import { restrictedSeccomp, seccomp } from "./seccomp.ts";
import { sysctls } from "./sysctls.ts";
import { hostPathVolumes, restrictedVolumes } from "./volumes.ts";
import { windowsHostProcess } from "./windows-host-process.ts";

/** The pod security standards in all their versions, in the order in which violations are reported. */
export const allChecks: readonly Check[] = [
  appArmor,
  defaultCapabilities,
  hostNamespaces,
  hostPathVolumes,
  hostPorts,
  hostProbes,
  privileged,
  procMount,
  seLinux,
  seccomp,
  sysctls,
  windowsHostProcess,

  privilegeEscalation,
  droppedCapabilities,
  restrictedProcMount,
  restrictedVolumes,
  runAsNonRoot,
  runAsUser,
  restrictedSeccomp,
];
