import assert from "node:assert/strict";
import { test } from "node:test";
import { allChecks } from "./all.ts";
import { soundPodWith, testStandard, violations } from "./standards.suite.ts";

const security = (fields: Readonly<Record<string, unknown>>) => ({ securityContext: fields });
const windows = { os: { name: "windows" } };
const escalation =
  'allowPrivilegeEscalation != false (container "NAME" must set securityContext.allowPrivilegeEscalation=false)';
const undropped = 'unrestricted capabilities (container "NAME" must set securityContext.capabilities.drop=["ALL"])';
const unset =
  'seccompProfile (pod or container "NAME" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")';
const root = "runAsNonRoot != true";

testStandard("restricted", [
  { field: "a sound pod", container: {} },

  {
    field: "allowPrivilegeEscalation",
    container: security({ allowPrivilegeEscalation: true }),
    since: 8,
    violation: escalation,
  },
  {
    field: "allowPrivilegeEscalation",
    container: security({ allowPrivilegeEscalation: undefined }),
    since: 8,
    violation: escalation,
  },
  {
    field: "allowPrivilegeEscalation on Windows",
    spec: windows,
    container: security({ allowPrivilegeEscalation: undefined }),
    since: 8,
    until: 25,
    violation: escalation,
  },

  { field: "capabilities.drop", container: security({ capabilities: { drop: ["ALL", "CHOWN"] } }) },
  {
    field: "capabilities.drop",
    container: security({ capabilities: { drop: ["CHOWN"] } }),
    since: 22,
    violation: undropped,
  },
  { field: "capabilities.drop", container: security({ capabilities: undefined }), since: 22, violation: undropped },
  {
    field: "capabilities.drop on Windows",
    spec: windows,
    container: security({ capabilities: undefined }),
    since: 22,
    until: 25,
    violation: undropped,
  },
  { field: "capabilities.add", container: security({ capabilities: { drop: ["ALL"], add: ["NET_BIND_SERVICE"] } }) },
  {
    field: "capabilities.add",
    container: security({ capabilities: { drop: ["ALL"], add: ["CHOWN", "NET_BIND_SERVICE"] } }),
    since: 22,
    violation:
      'unrestricted capabilities (container "NAME" must not include "CHOWN" in securityContext.capabilities.add)',
  },

  { field: "runAsNonRoot", container: security({ runAsNonRoot: true }) },
  {
    field: "runAsNonRoot of the container",
    spec: security({ runAsNonRoot: undefined }),
    container: security({ runAsNonRoot: true }),
  },
  {
    field: "runAsNonRoot",
    container: security({ runAsNonRoot: false }),
    violation: `${root} (container "NAME" must not set securityContext.runAsNonRoot=false)`,
  },
  {
    field: "runAsNonRoot of the pod",
    spec: security({ runAsNonRoot: false }),
    container: security({ runAsNonRoot: true }),
    violation: `${root} (pod must not set securityContext.runAsNonRoot=false)`,
  },
  {
    field: "runAsNonRoot",
    spec: security({ runAsNonRoot: undefined }),
    container: {},
    violation: `${root} (pod or container "NAME" must set securityContext.runAsNonRoot=true)`,
  },
  {
    field: "runAsNonRoot with a user namespace",
    spec: { hostUsers: false, ...security({ runAsNonRoot: undefined }) },
    container: {},
    until: 35,
    violation: `${root} (pod or container "NAME" must set securityContext.runAsNonRoot=true)`,
  },

  { field: "runAsUser", container: security({ runAsUser: 1000 }) },
  {
    field: "runAsUser",
    container: security({ runAsUser: 0 }),
    since: 23,
    violation: 'runAsUser=0 (container "NAME" must not set runAsUser=0)',
  },
  {
    field: "runAsUser of the pod",
    spec: security({ runAsUser: 0 }),
    since: 23,
    violation: "runAsUser=0 (pod must not set runAsUser=0)",
  },
  {
    field: "runAsUser with a user namespace",
    spec: { hostUsers: false },
    container: security({ runAsUser: 0 }),
    since: 23,
    until: 35,
    violation: 'runAsUser=0 (container "NAME" must not set runAsUser=0)',
  },

  {
    field: "seccompProfile of the container",
    spec: security({ seccompProfile: undefined }),
    container: security({ seccompProfile: { type: "Localhost" } }),
  },
  {
    field: "seccompProfile",
    spec: security({ seccompProfile: undefined }),
    container: {},
    since: 19,
    violation: unset,
  },
  {
    field: "seccompProfile on Windows",
    spec: { ...windows, ...security({ seccompProfile: undefined }) },
    container: {},
    since: 19,
    until: 25,
    violation: unset,
  },
  {
    field: "seccompProfile",
    container: security({ seccompProfile: { type: "Unconfined" } }),
    since: 19,
    violation: 'seccompProfile (container "NAME" must not set securityContext.seccompProfile.type to "Unconfined")',
  },

  {
    field: "procMount with a user namespace",
    spec: { hostUsers: false },
    container: security({ procMount: "Unmasked" }),
    violation: 'procMount (container "NAME" must not set securityContext.procMount to "Unmasked")',
  },

  ...[
    { configMap: {} },
    { csi: { driver: "d" } },
    { downwardAPI: {} },
    { emptyDir: {} },
    { ephemeral: {} },
    { image: {} },
    { persistentVolumeClaim: { claimName: "c" } },
    { projected: {} },
    { secret: {} },
  ].map((source) => ({ field: `volumes.${Object.keys(source)[0]}`, spec: { volumes: [{ name: "v", ...source }] } })),
  ...[
    "hostPath",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "gitRepo",
    "nfs",
    "iscsi",
    "glusterfs",
    "rbd",
    "flexVolume",
    "cinder",
    "cephfs",
    "flocker",
    "fc",
    "azureFile",
    "vsphereVolume",
    "quobyte",
    "azureDisk",
    "photonPersistentDisk",
    "portworxVolume",
    "scaleIO",
    "storageos",
  ].map((source) => ({
    field: `volumes.${source}`,
    spec: { volumes: [{ name: "v", [source]: {} }] },
    violation: `restricted volume types (volume "v" uses restricted volume type "${source}")`,
  })),
]);

test("the restricted level includes the baseline, without what its own checks say more strictly", () => {
  const pod = soundPodWith({
    hostNetwork: true,
    containers: [{ name: "a", securityContext: { privileged: true, capabilities: { add: ["SYS_ADMIN"] } } }],
    volumes: [{ name: "v", hostPath: { path: "/" } }],
    securityContext: { runAsNonRoot: undefined, seccompProfile: undefined },
  });
  assert.deepEqual(violations(pod, "restricted"), [
    "host namespaces (hostNetwork=true)",
    'privileged (container "a" must not set securityContext.privileged=true)',
    'allowPrivilegeEscalation != false (container "a" must set securityContext.allowPrivilegeEscalation=false)',
    'unrestricted capabilities (container "a" must set securityContext.capabilities.drop=["ALL"]; container "a" must not include "SYS_ADMIN" in securityContext.capabilities.add)',
    'restricted volume types (volume "v" uses restricted volume type "hostPath")',
    'runAsNonRoot != true (pod or container "a" must set securityContext.runAsNonRoot=true)',
    'seccompProfile (pod or container "a" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")',
  ]);
});

test("violations are reported in the order of upstream's names, the baseline first", () => {
  const ids = (level: string) => allChecks.filter((check) => check.level === level).map(({ id }) => id);
  assert.deepEqual(ids("baseline"), ids("baseline").toSorted());
  assert.deepEqual(ids("restricted"), ids("restricted").toSorted());
  assert.deepEqual(
    allChecks.map(({ id }) => id),
    [...ids("baseline"), ...ids("restricted")],
  );
});
