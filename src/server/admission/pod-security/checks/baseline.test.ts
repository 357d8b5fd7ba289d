import assert from "node:assert/strict";
import { test } from "node:test";
import { soundPodWith, testStandard, violations } from "./standards.suite.ts";

const security = (fields: Readonly<Record<string, unknown>>) => ({ securityContext: fields });
const appArmorKey = "container.apparmor.security.beta.kubernetes.io/a";
const seccompKey = "container.seccomp.security.alpha.kubernetes.io/a";
const seccompPodKey = "seccomp.security.alpha.kubernetes.io/pod";

testStandard("baseline", [
  { field: "hostNetwork", spec: { hostNetwork: false } },
  { field: "hostNetwork", spec: { hostNetwork: true }, violation: "host namespaces (hostNetwork=true)" },
  { field: "hostPID", spec: { hostPID: true }, violation: "host namespaces (hostPID=true)" },
  { field: "hostIPC", spec: { hostIPC: true }, violation: "host namespaces (hostIPC=true)" },

  { field: "privileged", container: security({ privileged: false }) },
  {
    field: "privileged",
    container: security({ privileged: true }),
    violation: 'privileged (container "NAME" must not set securityContext.privileged=true)',
  },

  { field: "capabilities.add", container: security({ capabilities: { add: ["CHOWN", "SYS_CHROOT"] } }) },
  {
    field: "capabilities.add",
    container: security({ capabilities: { add: ["SYS_ADMIN", "CHOWN", "NET_RAW"] } }),
    violation:
      'non-default capabilities (container "NAME" must not include "NET_RAW", "SYS_ADMIN" in securityContext.capabilities.add)',
  },

  { field: "volumes.emptyDir", spec: { volumes: [{ name: "v", emptyDir: {} }] } },
  {
    field: "volumes.hostPath",
    spec: { volumes: [{ name: "v", hostPath: { path: "/" } }] },
    violation: 'hostPath volumes (volume "v")',
  },

  { field: "ports.hostPort", container: { ports: [{ containerPort: 80, hostPort: 0 }] } },
  {
    field: "ports.hostPort",
    container: { ports: [{ containerPort: 80, hostPort: 80 }] },
    violation: 'hostPort (container "NAME" uses hostPort 80)',
  },

  { field: "appArmorProfile", container: security({ appArmorProfile: { type: "RuntimeDefault" } }) },
  { field: "appArmorProfile", container: security({ appArmorProfile: { type: "Localhost", localhostProfile: "x" } }) },
  {
    field: "appArmorProfile",
    container: security({ appArmorProfile: { type: "Unconfined" } }),
    violation: 'forbidden AppArmor profile (container "NAME" must not set AppArmor profile type to "Unconfined")',
  },
  { field: "appArmorProfile of the pod", spec: security({ appArmorProfile: { type: "RuntimeDefault" } }) },
  {
    field: "appArmorProfile of the pod",
    spec: security({ appArmorProfile: { type: "Unconfined" } }),
    violation: 'forbidden AppArmor profile (pod must not set AppArmor profile type to "Unconfined")',
  },
  { field: appArmorKey, metadata: { annotations: { [appArmorKey]: "" } } },
  { field: appArmorKey, metadata: { annotations: { [appArmorKey]: "runtime/default" } } },
  { field: appArmorKey, metadata: { annotations: { [appArmorKey]: "localhost/mine" } } },
  {
    field: appArmorKey,
    metadata: { annotations: { [appArmorKey]: "unconfined" } },
    violation: `forbidden AppArmor profile (annotation must not set AppArmor profile type to "${appArmorKey}="unconfined"")`,
  },

  { field: "seLinuxOptions.type", container: security({ seLinuxOptions: { type: "container_kvm_t", level: "s0" } }) },
  { field: "seLinuxOptions.type", spec: security({ seLinuxOptions: { type: "container_init_t" } }) },
  {
    field: "seLinuxOptions.type",
    container: security({ seLinuxOptions: { type: "super_t" } }),
    violation: 'seLinuxOptions (container "NAME" set forbidden securityContext.seLinuxOptions: type "super_t")',
  },
  {
    field: "seLinuxOptions.type",
    container: security({ seLinuxOptions: { type: "container_engine_t" } }),
    until: 31,
    violation:
      'seLinuxOptions (container "NAME" set forbidden securityContext.seLinuxOptions: type "container_engine_t")',
  },
  {
    field: "seLinuxOptions.user",
    container: security({ seLinuxOptions: { user: "root" } }),
    violation: 'seLinuxOptions (container "NAME" set forbidden securityContext.seLinuxOptions: user may not be set)',
  },
  {
    field: "seLinuxOptions.role",
    spec: security({ seLinuxOptions: { role: "admin", type: "super_t" } }),
    violation: 'seLinuxOptions (pod set forbidden securityContext.seLinuxOptions: type "super_t"; role may not be set)',
  },

  { field: "procMount", container: security({ procMount: "Default" }) },
  {
    field: "procMount",
    container: security({ procMount: "Unmasked" }),
    violation: 'procMount (container "NAME" must not set securityContext.procMount to "Unmasked")',
  },
  {
    field: "procMount with a user namespace",
    spec: { hostUsers: false },
    container: security({ procMount: "Unmasked" }),
    until: 35,
    violation: 'procMount (container "NAME" must not set securityContext.procMount to "Unmasked")',
  },

  { field: "seccompProfile", container: security({ seccompProfile: { type: "RuntimeDefault" } }) },
  { field: "seccompProfile", container: security({ seccompProfile: { type: "Localhost", localhostProfile: "x" } }) },
  {
    field: "seccompProfile",
    container: security({ seccompProfile: { type: "Unconfined" } }),
    since: 19,
    violation: 'seccompProfile (container "NAME" must not set securityContext.seccompProfile.type to "Unconfined")',
  },
  {
    field: "seccompProfile of the pod",
    spec: security({ seccompProfile: { type: "Unconfined" } }),
    since: 19,
    violation: 'seccompProfile (pod must not set securityContext.seccompProfile.type to "Unconfined")',
  },
  { field: seccompKey, metadata: { annotations: { [seccompKey]: "docker/default" } } },
  { field: seccompKey, metadata: { annotations: { [seccompKey]: "localhost/x" } } },
  {
    field: seccompKey,
    metadata: { annotations: { [seccompKey]: "unconfined" } },
    until: 19,
    violation: `seccompProfile (forbidden annotation ${seccompKey}="unconfined")`,
  },
  { field: seccompPodKey, metadata: { annotations: { [seccompPodKey]: "runtime/default" } } },
  {
    field: seccompPodKey,
    metadata: { annotations: { [seccompPodKey]: "unconfined" } },
    until: 19,
    violation: `seccompProfile (forbidden annotation ${seccompPodKey}="unconfined")`,
  },

  ...[
    { name: "kernel.shm_rmid_forced", since: 0 },
    { name: "net.ipv4.ip_local_port_range", since: 0 },
    { name: "net.ipv4.tcp_syncookies", since: 0 },
    { name: "net.ipv4.ping_group_range", since: 0 },
    { name: "net.ipv4.ip_unprivileged_port_start", since: 0 },
    { name: "net.ipv4.ip_local_reserved_ports", since: 27 },
    { name: "net.ipv4.tcp_keepalive_time", since: 29 },
    { name: "net.ipv4.tcp_fin_timeout", since: 29 },
    { name: "net.ipv4.tcp_keepalive_intvl", since: 29 },
    { name: "net.ipv4.tcp_keepalive_probes", since: 29 },
    { name: "net.ipv4.tcp_rmem", since: 32 },
    { name: "net.ipv4.tcp_wmem", since: 32 },
    // Safe in later versions only.
    { name: "net.ipv4.tcp_notsent_lowat", since: undefined },
    { name: "kernel.msgmax", since: undefined },
  ].map(({ name, since }) => ({
    field: "sysctls",
    spec: security({ sysctls: [{ name, value: "1" }] }),
    ...(since === 0 ? {} : { violation: `forbidden sysctls (${name})` }),
    ...(since === undefined ? {} : { until: since }),
  })),

  { field: "windowsOptions.hostProcess", container: security({ windowsOptions: { hostProcess: false } }) },
  {
    field: "windowsOptions.hostProcess",
    container: security({ windowsOptions: { hostProcess: true } }),
    violation: 'hostProcess (container "NAME" must not set securityContext.windowsOptions.hostProcess=true)',
  },
  {
    field: "windowsOptions.hostProcess of the pod",
    spec: security({ windowsOptions: { hostProcess: true } }),
    violation: "hostProcess (pod must not set securityContext.windowsOptions.hostProcess=true)",
  },

  ...["livenessProbe", "readinessProbe", "startupProbe"].flatMap((probe) =>
    probeCases(probe, (handler) => ({ [probe]: handler })),
  ),
  ...["postStart", "preStop"].flatMap((hook) => probeCases(hook, (handler) => ({ lifecycle: { [hook]: handler } }))),
]);

function probeCases(name: string, containerOf: (handler: object) => Readonly<Record<string, unknown>>) {
  return ["httpGet", "tcpSocket"].flatMap((action) => [
    { field: `${name}.${action}.host`, container: containerOf({ [action]: { port: 80, host: "" } }) },
    {
      field: `${name}.${action}.host`,
      container: containerOf({ [action]: { port: 80, host: "10.0.0.1" } }),
      since: 34,
      violation: 'probe or lifecycle host (container "NAME" uses probe or lifecycle host "10.0.0.1")',
    },
  ]);
}

test("violations of several containers are reported together, in upstream's words and order", () => {
  const bad = {
    privileged: true,
    procMount: "Unmasked",
    capabilities: { add: ["B", "A"] },
    appArmorProfile: { type: "Unconfined" },
    seLinuxOptions: { type: "x_t", user: "u", role: "r" },
    seccompProfile: { type: "Unconfined" },
    windowsOptions: { hostProcess: true },
  };
  const ports = [
    { containerPort: 1, hostPort: 9 },
    { containerPort: 2, hostPort: 10 },
  ];
  const pod = soundPodWith({
    hostNetwork: true,
    hostPID: true,
    hostIPC: true,
    containers: ["a", "b"].map((name) => ({ name, ports, securityContext: bad })),
    initContainers: [
      { name: "i", livenessProbe: { httpGet: { port: 1, host: "y" }, tcpSocket: { port: 1, host: "x" } } },
    ],
    volumes: ["v", "w"].map((name) => ({ name, hostPath: { path: "/" } })),
    securityContext: { ...bad, sysctls: [{ name: "b.b" }, { name: "a.a" }] },
  });
  assert.deepEqual(violations(pod, "baseline"), [
    'forbidden AppArmor profile (pod and containers "a", "b" must not set AppArmor profile type to "Unconfined")',
    'non-default capabilities (containers "a", "b" must not include "A", "B" in securityContext.capabilities.add)',
    "host namespaces (hostNetwork=true, hostPID=true, hostIPC=true)",
    'hostPath volumes (volumes "v", "w")',
    'hostPort (containers "a", "b" use hostPorts 10, 9)',
    'probe or lifecycle host (container "i" uses probe or lifecycle hosts "x", "y")',
    'privileged (containers "a", "b" must not set securityContext.privileged=true)',
    'procMount (containers "a", "b" must not set securityContext.procMount to "Unmasked")',
    'seLinuxOptions (pod and containers "a", "b" set forbidden securityContext.seLinuxOptions: type "x_t"; user may not be set; role may not be set)',
    'seccompProfile (pod and containers "a", "b" must not set securityContext.seccompProfile.type to "Unconfined")',
    "forbidden sysctls (b.b, a.a)",
    'hostProcess (pod and containers "a", "b" must not set securityContext.windowsOptions.hostProcess=true)',
  ]);
  assert.deepEqual(violations(pod, "privileged"), []);
});

test("a pod with thousands of containers does not get a message with all their names", () => {
  const containers = Array.from({ length: 5000 }, (_, n) => ({ name: `c${n}`, securityContext: { privileged: true } }));
  const [text = ""] = violations(soundPodWith({ containers }), "baseline");
  assert.match(text, /^privileged \(containers "c0", "c1", .*"c99", and 4900 more must not set/);
});
