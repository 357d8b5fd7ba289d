import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { Pod } from "#api/core/pod.ts";
import { faultsIn } from "#api/cursor.ts";
import { aPod, type PodCase as Case, dnsLabelFault as dnsLabel, faultsOf, lines } from "../testing-pod.ts";
import { validatePodTemplate } from "./validate-pod.ts";

const securityCases: Case[] = [
  {
    name: "rights of containers",
    container: {
      securityContext: {
        runAsUser: -1,
        procMount: "Unmasked",
        privileged: true,
        allowPrivilegeEscalation: false,
        seccompProfile: { type: "Localhost" },
        appArmorProfile: { type: "RuntimeDefault", localhostProfile: "x" },
      },
    },
    faults: [
      "spec.containers[0].securityContext.runAsUser: Invalid value: -1: must be between 0 and 2147483647, inclusive",
      'spec.containers[0].securityContext.procMount: Invalid value: "Unmasked": `hostUsers` must be false to use `Unmasked`',
      "spec.containers[0].securityContext.seccompProfile.localhostProfile: Required value: must be set when seccomp type is Localhost",
      'spec.containers[0].securityContext.appArmorProfile.localhostProfile: Invalid value: "x": can only be set when AppArmor type is Localhost',
      'spec.containers[0].securityContext: Invalid value: {"runAsUser":-1,"procMount":"Unmasked","privileged":true,"allowPrivilegeEscalation":false,"seccompProfile":{"type":"Localhost"},"appArmorProfile":{"type":"RuntimeDefault","localhostProfile":"x"}}: cannot set `allowPrivilegeEscalation` to false and `privileged` to true',
    ],
  },
  {
    name: "rights of the pod",
    spec: {
      hostPID: true,
      hostNetwork: true,
      shareProcessNamespace: true,
      securityContext: {
        fsGroup: -5,
        sysctls: [
          { name: "net.ipv4.tcp_syncookies", value: "1" },
          { name: "Kernel.x", value: "1" },
          { name: "kernel.shm_rmid_forced", value: "1" },
          { name: "kernel.shm_rmid_forced", value: "1" },
        ],
      },
    },
    faults: [
      "spec.securityContext.fsGroup: Invalid value: -5: must be between 0 and 2147483647, inclusive",
      "spec.securityContext.shareProcessNamespace: Invalid value: true: ShareProcessNamespace and HostPID cannot both be enabled",
      "spec.securityContext.sysctls[0].name: Invalid value: \"net.ipv4.tcp_syncookies\": may not be specified when 'hostNetwork' is true",
      'spec.securityContext.sysctls[1].name: Invalid value: "Kernel.x": must have at most 253 characters and match regex ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$',
      'spec.securityContext.sysctls[3].name: Duplicate value: "kernel.shm_rmid_forced"',
    ],
  },
  {
    name: "a user namespace with the host's others",
    spec: { hostUsers: false, hostIPC: true, hostNetwork: true },
    faults: [
      "spec.hostNetwork: Forbidden: when `hostUsers` is false",
      "spec.HostIPC: Forbidden: when `hostUsers` is false",
    ],
  },
  {
    name: "Linux settings on a Windows pod",
    spec: { os: { name: "windows" }, hostPID: true, securityContext: { runAsUser: 1 } },
    container: { securityContext: { privileged: true, windowsOptions: { runAsUserName: "a\\b\\c" } } },
    faults: [
      'spec.containers[0].securityContext.windowsOptions.runAsUserName: Invalid value: "a\\\\b\\\\c": runAsUserName cannot contain more than one backslash',
      "spec.hostPID: Forbidden: cannot be set for a windows pod",
      "spec.securityContext.runAsUser: Forbidden: cannot be set for a windows pod",
      "spec.containers[0].securityContext.privileged: Forbidden: cannot be set for a windows pod",
    ],
  },
  {
    name: "Windows settings on a Linux pod",
    spec: { os: { name: "linux" } },
    container: { securityContext: { windowsOptions: { hostProcess: true } } },
    faults: [
      "spec.hostNetwork: Invalid value: false: hostNetwork must be true if pod contains any hostProcess containers",
      "spec.containers[0].securityContext.windowsOptions: Forbidden: windows options cannot be set for a linux pod",
    ],
  },
];

const placementCases: Case[] = [
  {
    name: "node affinity",
    spec: {
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [
              {
                matchExpressions: [
                  { key: "a", operator: "In" },
                  { key: "a", operator: "Gt", values: ["1", "2"] },
                  { key: "a", operator: "Like" },
                ],
                matchFields: [{ key: "metadata.uid", operator: "In", values: ["x"] }],
              },
            ],
          },
          preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 101, preference: {} }],
        },
      },
    },
    faults: [
      "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
      "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[1].values: Required value: must be specified single value when `operator` is 'Lt' or 'Gt'",
      'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[2].operator: Invalid value: "Like": not a valid selector operator',
      'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchFields[0].key: Invalid value: "metadata.uid": not a valid field selector key',
      "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: Invalid value: 101: must be in the range 1-100",
    ],
  },
  {
    name: "pod affinity without a topology key",
    spec: {
      affinity: {
        podAntiAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: [{ labelSelector: {}, topologyKey: "" }],
          preferredDuringSchedulingIgnoredDuringExecution: [
            { weight: 1, podAffinityTerm: { topologyKey: "zone", matchLabelKeys: ["a"] } },
          ],
        },
      },
    },
    faults: [
      "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey: Required value: can not be empty",
      'spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey: Invalid value: "": name part must be non-empty',
      "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey: Invalid value: \"\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
      "spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm.matchLabelKeys: Forbidden: must not be specified when labelSelector is not set",
    ],
  },
  {
    name: "so many terms about other pods that the scheduler would take long",
    spec: {
      affinity: {
        podAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: Array.from({ length: 32 }, () => ({ topologyKey: "zone" })),
          preferredDuringSchedulingIgnoredDuringExecution: Array.from({ length: 33 }, () => ({
            weight: 1,
            podAffinityTerm: { topologyKey: "zone" },
          })),
        },
        podAntiAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: Array.from({ length: 8000 }, () => ({ topologyKey: "zone" })),
        },
      },
      topologySpreadConstraints: Array.from({ length: 8000 }, (_, n) => ({
        topologyKey: `zone-${n}`,
        maxSkew: 1,
        whenUnsatisfiable: "DoNotSchedule",
      })),
    },
    faults: [
      "spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution: Too many: 33: must have at most 32 items",
      "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution: Too many: 8000: must have at most 32 items",
      "spec.topologySpreadConstraints: Too many: 8000: must have at most 32 items",
    ],
  },
  {
    name: "tolerations",
    spec: {
      tolerations: [
        { operator: "Equal" },
        { key: "a", operator: "Exists", value: "x" },
        { key: "a", operator: "Gt", value: "1" },
        { key: "a", operator: "Like" },
        { key: "a", tolerationSeconds: 5 },
        { key: "a", effect: "Never" },
      ],
    },
    faults: [
      'spec.tolerations[5].effect: Unsupported value: "Never": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"',
      'spec.tolerations[0].operator: Invalid value: "Equal": operator must be Exists when `key` is empty, which means "match all values and all keys"',
      "spec.tolerations[1].operator: Invalid value: \"x\": value must be empty when `operator` is 'Exists'",
      'spec.tolerations[2].operator: Unsupported value: "Gt": supported values: "Equal", "Exists", "Lt", "Gt"',
      'spec.tolerations[3].operator: Unsupported value: "Like": supported values: "Equal", "Exists"',
      "spec.tolerations[4].effect: Invalid value: \"\": effect must be 'NoExecute' when `tolerationSeconds` is set",
    ],
  },
  {
    name: "topology spread",
    spec: {
      topologySpreadConstraints: [
        { maxSkew: 0, topologyKey: "", whenUnsatisfiable: "DoNotSchedule" },
        { maxSkew: 1, topologyKey: "zone", whenUnsatisfiable: "ScheduleAnyway", minDomains: 2 },
        { maxSkew: 1, topologyKey: "zone", whenUnsatisfiable: "ScheduleAnyway" },
      ],
    },
    faults: [
      "spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero",
      "spec.topologySpreadConstraints[0].topologyKey: Required value: can not be empty",
      'spec.topologySpreadConstraints[1].{topologyKey, whenUnsatisfiable}: Duplicate value: "{zone, ScheduleAnyway}"',
      "spec.topologySpreadConstraints[1].minDomains: Invalid value: 2: can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ScheduleAnyway",
    ],
  },
  {
    name: "gates",
    spec: { readinessGates: [{ conditionType: "a b" }], schedulingGates: [{ name: "a" }, { name: "a" }] },
    faults: [
      "spec.readinessGates[0].conditionType: Invalid value: \"a b\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
      'spec.schedulingGates[1]: Duplicate value: "a"',
    ],
  },
];

const podCases: Case[] = [
  {
    name: "DNS",
    spec: { dnsPolicy: "None" },
    faults: ["spec.dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None"],
  },
  {
    name: "DNS settings",
    spec: {
      dnsConfig: { nameservers: ["1.2.3.4", "a", "1.2.3.04", "::1"], searches: ["_a.b.", ".", "-"], options: [{}] },
    },
    faults: [
      'spec.dnsConfig.nameservers: Invalid value: ["1.2.3.4","a","1.2.3.04","::1"]: must not have more than 3 nameservers',
      'spec.dnsConfig.nameservers[1]: Invalid value: "a": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
      'spec.dnsConfig.nameservers[2]: Invalid value: "1.2.3.04": must not have leading 0s',
      "spec.dnsConfig.searches[2]: Invalid value: \"-\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*')",
      "spec.dnsConfig.options[0]: Required value: must not be empty",
    ],
  },
  {
    name: "host names and deadlines",
    spec: {
      hostname: "A",
      activeDeadlineSeconds: 0,
      hostAliases: [{ ip: "x", hostnames: ["ok"] }],
      restartPolicy: "Maybe",
    },
    faults: [
      'spec.restartPolicy: Unsupported value: "Maybe": supported values: "Always", "OnFailure", "Never"',
      'spec.hostAliases[0].ip: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
      `spec.hostname: Invalid value: "A": ${dnsLabel}`,
      "spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive",
    ],
  },
  {
    name: "a token without a service account",
    spec: {
      serviceAccountName: "",
      volumes: [{ name: "t", projected: { sources: [{ serviceAccountToken: { path: "t" } }] } }],
    },
    faults: [
      "spec.volumes[0].projected.sources[0].serviceAccountToken: Forbidden: must not be specified when serviceAccountName is not set",
    ],
  },
  {
    name: "annotations",
    metadata: {
      annotations: {
        "controller.kubernetes.io/pod-deletion-cost": "+1",
        "kubernetes.io/config.mirror": "x",
        "container.apparmor.security.beta.kubernetes.io/none": "odd",
      },
    },
    faults: [
      'metadata.annotations[controller.kubernetes.io/pod-deletion-cost]: Invalid value: "+1": must be a 32bit integer',
      'metadata.annotations[kubernetes.io/config.mirror]: Invalid value: "x": must set spec.nodeName if mirror pod annotation is set',
      'metadata.annotations[container.apparmor.security.beta.kubernetes.io/none]: Invalid value: "none": container not found',
      'metadata.annotations[container.apparmor.security.beta.kubernetes.io/none]: Invalid value: "odd": invalid AppArmor profile name: "odd"',
    ],
  },
];

const groups = { securityCases, placementCases, podCases };
for (const [group, cases] of Object.entries(groups)) {
  suite(`a pod is checked: ${group.replace("Cases", "")}`, () => {
    for (const { name, spec, container, metadata, faults } of cases) {
      test(name, () => assert.deepEqual(faultsOf(aPod(spec, container, metadata)), faults));
    }
  });
}

test("a new pod may not have ephemeral containers, nor be placed before its gates are gone", () => {
  const pod = aPod({
    nodeName: "n",
    schedulingGates: [{ name: "g" }],
    ephemeralContainers: [{ name: "debug", image: "busybox" }],
  });

  assert.deepEqual(lines(faultsIn(pod, (at) => Pod.validateCreate?.(at))), [
    "spec.ephemeralContainers: Forbidden: cannot be set on create",
    "spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared",
  ]);
});

test("a template is checked with its own path, and may leave host ports open", () => {
  const { metadata, spec } = aPod({ hostNetwork: true, volumes: [{ name: "A" }] }, { image: " x " });
  for (const { ports = [] } of spec.containers) for (const port of ports) delete port.hostPort;

  assert.deepEqual(lines(faultsIn({ metadata, spec }, (at) => validatePodTemplate(at.under("spec", "template")))), [
    `spec.template.spec.volumes[0].name: Invalid value: "A": ${dnsLabel}`,
  ]);
});
