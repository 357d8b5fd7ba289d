import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { Volume } from "#api/core/volume/volume.ts";
import { aPod, type PodCase as Case, dnsLabelFault as dnsLabel, faultsOf } from "../testing-pod.ts";

const containerCases: Case[] = [
  { name: "a plain pod", faults: [] },
  { name: "no containers", spec: { containers: [] }, faults: ["spec.containers: Required value"] },
  {
    name: "names, images and ports",
    container: { name: "Web", image: "", ports: [{ containerPort: 0 }, { containerPort: 70000, name: "8080" }] },
    faults: [
      `spec.containers[0].name: Invalid value: "Web": ${dnsLabel}`,
      "spec.containers[0].image: Required value",
      "spec.containers[0].ports[0].containerPort: Required value",
      'spec.containers[0].ports[1].name: Invalid value: "8080": must contain at least one letter (a-z)',
      "spec.containers[0].ports[1].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive",
    ],
  },
  {
    name: "the same name twice",
    spec: {
      containers: [
        { name: "a", image: "i" },
        { name: "a", image: "i" },
      ],
      initContainers: [{ name: "a", image: "i" }],
    },
    faults: ['spec.containers[1].name: Duplicate value: "a"', 'spec.initContainers[0].name: Duplicate value: "a"'],
  },
  {
    name: "the same host port twice",
    container: {
      ports: [
        { containerPort: 1, hostPort: 80 },
        { containerPort: 2, hostPort: 80 },
      ],
    },
    faults: ['spec.containers[0].ports[1].hostPort: Duplicate value: "TCP//80"'],
  },
  {
    name: "closed sets",
    container: { imagePullPolicy: "Sometimes", ports: [{ containerPort: 1, protocol: "tcp" }] },
    faults: [
      'spec.containers[0].ports[0].protocol: Unsupported value: "tcp": supported values: "SCTP", "TCP", "UDP"',
      'spec.containers[0].imagePullPolicy: Unsupported value: "Sometimes": supported values: "Always", "IfNotPresent", "Never"',
    ],
  },
  {
    name: "an image with white space around it",
    container: { image: " nginx" },
    faults: ['spec.containers[0].image: Invalid value: " nginx": must not have leading or trailing whitespace'],
  },
  {
    name: "probes on an init container that ends",
    spec: { initContainers: [{ name: "i", image: "i", livenessProbe: { exec: { command: ["x"] } } }] },
    faults: [
      "spec.initContainers[0].livenessProbe: Forbidden: may not be set for init containers without restartPolicy=Always",
    ],
  },
  {
    name: "a sidecar with a probe",
    spec: {
      initContainers: [{ name: "i", image: "i", restartPolicy: "Always", startupProbe: { exec: { command: ["x"] } } }],
    },
    faults: [],
  },
  {
    name: "restart rules",
    container: { restartPolicyRules: [{ action: "Jump", exitCodes: { operator: "Eq" } }, { action: "Restart" }] },
    faults: [
      "spec.containers[0].restartPolicy: Required value: must specify restartPolicy when restart rules are used",
      'spec.containers[0].restartPolicyRules[0].action: Unsupported value: "Jump": supported values: "Restart", "RestartAllContainers"',
      'spec.containers[0].restartPolicyRules[0].exitCodes.operator: Unsupported value: "Eq": supported values: "In", "NotIn"',
      "spec.containers[0].restartPolicyRules[1].exitCodes: Required value: must be specified",
    ],
  },
  {
    name: "resize policies",
    spec: { restartPolicy: "Never" },
    container: { resizePolicy: [{ resourceName: "disk", restartPolicy: "RestartContainer" }] },
    faults: [
      'spec.containers[0].resizePolicy: Unsupported value: "disk": supported values: "cpu", "memory"',
      "spec.containers[0].resizePolicy: Invalid value: \"RestartContainer\": must be 'NotRequired' when pod `restartPolicy` is 'Never'",
    ],
  },
];

const envCases: Case[] = [
  {
    name: "variables",
    container: {
      env: [
        { name: "" },
        { name: "A=B", value: "x" },
        { name: "A", valueFrom: {} },
        { name: "B", value: "x", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
        { name: "C", valueFrom: { fieldRef: { fieldPath: "metadata.labels['ok']" } } },
        { name: "D", valueFrom: { fieldRef: { fieldPath: "spec.phase" } } },
        { name: "E", valueFrom: { fieldRef: { fieldPath: "status.phase" } } },
        { name: "F", valueFrom: { resourceFieldRef: { resource: "limits.cpu", divisor: "2" } } },
        { name: "G", valueFrom: { resourceFieldRef: { resource: "limits.gpu" } } },
        { name: "H", valueFrom: { configMapKeyRef: { name: "c", key: "a/b" } } },
      ],
    },
    faults: [
      "spec.containers[0].env[0].name: Required value",
      "spec.containers[0].env[1].name: Invalid value: \"A=B\": a valid environment variable name must consist only of printable ASCII characters other than '='",
      'spec.containers[0].env[2].valueFrom: Invalid value: "": must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`',
      'spec.containers[0].env[3].valueFrom: Invalid value: "": may not be specified when `value` is not empty',
      'spec.containers[0].env[5].valueFrom.fieldRef.fieldPath: Invalid value: "spec.phase": error converting fieldPath: field label not supported: spec.phase',
      'spec.containers[0].env[6].valueFrom.fieldRef.fieldPath: Unsupported value: "status.phase": supported values: "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName", "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"',
      'spec.containers[0].env[7].valueFrom.resourceFieldRef.divisor: Invalid value: "limits.cpu": only divisor\'s values 1m and 1 are supported with the cpu resource',
      'spec.containers[0].env[8].valueFrom.resourceFieldRef.resource: Unsupported value: "limits.gpu": supported values: "limits.cpu", "limits.ephemeral-storage", "limits.memory", "requests.cpu", "requests.ephemeral-storage", "requests.memory"',
      "spec.containers[0].env[9].valueFrom.configMapKeyRef.key: Invalid value: \"a/b\": a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')",
    ],
  },
  {
    name: "sets of variables",
    container: {
      envFrom: [{}, { configMapRef: { name: "" } }, { configMapRef: { name: "a" }, secretRef: { name: "b" } }],
    },
    faults: [
      'spec.containers[0].envFrom: Invalid value: "": must specify one of: `configMapRef` or `secretRef`',
      "spec.containers[0].envFrom[1].configMapRef.name: Required value",
      'spec.containers[0].envFrom: Invalid value: "": may not have more than one field specified at a time',
    ],
  },
  {
    name: "env files",
    spec: { volumes: [{ name: "cm", configMap: { name: "c" } }] },
    container: {
      env: [
        { name: "A", valueFrom: { fileKeyRef: { volumeName: "cm", path: "a", key: "A" } } },
        { name: "B", valueFrom: { fileKeyRef: { volumeName: "none", path: "../a", key: "B" } } },
      ],
    },
    faults: [
      "spec.containers[0].env[1].valueFrom.fileKeyRef.path: Invalid value: \"../a\": must not contain '..'",
      'spec.containers[0].env[0].valueFrom.fileKeyRef.volumeName: Invalid value: "cm": referenced volume must be of type emptyDir',
      'spec.containers[0].env[1].valueFrom.fileKeyRef.volumeName: Not found: "none"',
    ],
  },
];

const probeCases: Case[] = [
  {
    name: "probes",
    container: {
      livenessProbe: { successThreshold: 2, exec: {}, httpGet: { port: 80 } },
      readinessProbe: { tcpSocket: { port: "no_name" }, terminationGracePeriodSeconds: 5, periodSeconds: -1 },
      startupProbe: { httpGet: { port: 0, scheme: "FTP", httpHeaders: [{ name: "a b", value: "" }] } },
    },
    faults: [
      "spec.containers[0].readinessProbe.periodSeconds: Invalid value: -1: must be greater than or equal to 0",
      'spec.containers[0].startupProbe.httpGet.scheme: Unsupported value: "FTP": supported values: "HTTP", "HTTPS"',
      "spec.containers[0].livenessProbe.exec.command: Required value",
      "spec.containers[0].livenessProbe.httpGet: Forbidden: may not specify more than 1 handler type",
      "spec.containers[0].livenessProbe.successThreshold: Invalid value: 2: must be 1",
      'spec.containers[0].readinessProbe.tcpSocket.port: Invalid value: "no_name": must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)',
      "spec.containers[0].readinessProbe.terminationGracePeriodSeconds: Invalid value: 5: must not be set for readinessProbes",
      "spec.containers[0].startupProbe.httpGet.port: Invalid value: 0: must be between 1 and 65535, inclusive",
      "spec.containers[0].startupProbe.httpGet.httpHeaders: Invalid value: \"a b\": a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')",
    ],
  },
  {
    name: "hooks",
    spec: { terminationGracePeriodSeconds: 10 },
    container: { lifecycle: { postStart: {}, preStop: { sleep: { seconds: 11 } }, stopSignal: "SIGHUP" } },
    faults: [
      "spec.containers[0].lifecycle.postStart: Required value: must specify a handler type",
      "spec.containers[0].lifecycle.preStop.sleep: Invalid value: 11: must be non-negative and less than terminationGracePeriodSeconds (10)",
      "spec.containers[0].lifecycle.stopSignal: Forbidden: may not be set for containers with empty `spec.os.name`",
    ],
  },
];

const volumeCases: Case[] = [
  {
    name: "mounts of volumes",
    spec: { volumes: [{ name: "v" }] },
    container: {
      volumeMounts: [
        { name: "v", mountPath: "/v", subPath: "/abs" },
        { name: "v", mountPath: "/v", mountPropagation: "Bidirectional" },
        { name: "w", mountPath: "/w", recursiveReadOnly: "Enabled", subPath: "a", subPathExpr: "../b" },
      ],
      volumeDevices: [{ name: "v", devicePath: "/v" }],
    },
    faults: [
      'spec.containers[0].volumeMounts[0].name: Invalid value: "v": must not already exist in volumeDevices',
      'spec.containers[0].volumeMounts[0].mountPath: Invalid value: "/v": must not already exist as a path in volumeDevices',
      'spec.containers[0].volumeMounts.subPath: Invalid value: "/abs": must be a relative path',
      'spec.containers[0].volumeMounts[1].mountPath: Invalid value: "/v": must be unique',
      'spec.containers[0].volumeMounts[1].name: Invalid value: "v": must not already exist in volumeDevices',
      'spec.containers[0].volumeMounts[1].mountPath: Invalid value: "/v": must not already exist as a path in volumeDevices',
      "spec.containers[0].volumeMounts.mountPropagation: Forbidden: Bidirectional mount propagation is available only to privileged containers",
      'spec.containers[0].volumeMounts[2].name: Not found: "w"',
      'spec.containers[0].volumeMounts[2].subPathExpr: Invalid value: "../b": subPathExpr and subPath are mutually exclusive',
      "spec.containers[0].volumeMounts.subPathExpr: Invalid value: \"../b\": must not contain '..'",
      "spec.containers[0].volumeMounts.recursiveReadOnly: Forbidden: may only be specified when readOnly is true",
      'spec.containers[0].volumeDevices[0].name: Invalid value: "v": can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode',
      'spec.containers[0].volumeDevices[0].name: Invalid value: "v": must not already exist in volumeMounts',
      'spec.containers[0].volumeDevices[0].devicePath: Invalid value: "/v": must not already exist as a path in volumeMounts',
    ],
  },
  {
    name: "volumes",
    spec: {
      volumes: [
        { name: "" },
        { name: "a" },
        { name: "a" },
        { name: "b", emptyDir: {}, hostPath: { path: "/x" } },
        { name: "c", emptyDir: { sizeLimit: "-1" } },
        { name: "d", hostPath: { path: "/a/../b", type: "Folder" } },
        { name: "e", secret: { defaultMode: 512 } },
        { name: "f", configMap: { name: "c", items: [{ key: "k", path: "/abs", mode: -1 }] } },
        { name: "g", downwardAPI: { items: [{ path: "a" }] } },
        { name: "h", nfs: { server: "s", path: "rel" } },
        { name: "i", csi: { driver: "bad_driver" } },
        { name: "j", ephemeral: {} },
        { name: "k", persistentVolumeClaim: { claimName: "web-l" } },
        { name: "l", ephemeral: { volumeClaimTemplate: { spec: {} } } },
        { name: "m", image: {} },
        { name: "n", flexVolume: { driver: "d", options: { "k8s.io/x": "1" } } },
        { name: "o", iscsi: { targetPortal: "p", iqn: "x", lun: 300, chapAuthSession: true } },
      ],
    },
    faults: [
      'spec.volumes[5].hostPath.type: Unsupported value: "Folder": supported values: "", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"',
      "spec.volumes[0].name: Required value",
      'spec.volumes[2].name: Duplicate value: "a"',
      "spec.volumes[3].hostPath: Forbidden: may not specify more than 1 volume type",
      "spec.volumes[4].emptyDir.sizeLimit: Forbidden: SizeLimit field must be a valid resource quantity",
      "spec.volumes[5].hostPath.path: Invalid value: \"/a/../b\": must not contain '..'",
      "spec.volumes[6].secret.secretName: Required value",
      "spec.volumes[6].secret.defaultMode: Invalid value: 512: must be a number between 0 and 0777 (octal), both inclusive",
      'spec.volumes[7].configMap.items[0].path: Invalid value: "/abs": must be a relative path',
      "spec.volumes[7].configMap.items[0].mode: Invalid value: -1: must be a number between 0 and 0777 (octal), both inclusive",
      "spec.volumes[8].downwardAPI: Required value: one of fieldRef and resourceFieldRef is required",
      'spec.volumes[9].nfs.path: Invalid value: "rel": must be an absolute path',
      "spec.volumes[10].csi.driver: Invalid value: \"bad_driver\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
      "spec.volumes[11].ephemeral.volumeClaimTemplate: Required value",
      'spec.volumes[12].persistentVolumeClaim.claimName: Invalid value: "web-l": must not reference a PVC that gets created for an ephemeral volume',
      "spec.volumes[13].ephemeral.volumeClaimTemplate.spec.accessModes: Required value: at least 1 access mode is required",
      "spec.volumes[13].ephemeral.volumeClaimTemplate.spec.resources[storage]: Required value",
      "spec.volumes[14].image.reference: Required value",
      'spec.volumes[15].flexVolume.options[k8s.io/x]: Invalid value: "k8s.io/x": kubernetes.io and k8s.io namespaces are reserved',
      'spec.volumes[16].iscsi.iqn: Invalid value: "x": must be valid format starting with iqn, eui, or naa',
      "spec.volumes[16].iscsi.lun: Invalid value: 300: must be between 0 and 255, inclusive",
      "spec.volumes[16].iscsi.secretRef: Required value",
    ],
  },
  {
    name: "projected volumes",
    spec: {
      volumes: [
        {
          name: "p",
          projected: {
            sources: [
              { secret: { items: [{ key: "a", path: "x" }] } },
              { configMap: { name: "c", items: [{ key: "a", path: "x" }] } },
              { serviceAccountToken: { path: "t", expirationSeconds: 5 }, downwardAPI: {} },
            ],
          },
        },
      ],
    },
    faults: [
      "spec.volumes[0].projected.sources[0].secret.name: Required value",
      'spec.volumes[0].projected: Invalid value: "c": conflicting duplicate paths',
      "spec.volumes[0].projected.sources[2].serviceAccountToken.expirationSeconds: Invalid value: 5: may not specify a duration less than 10 minutes",
      "spec.volumes[0].projected.sources[2]: Forbidden: may not specify more than 1 volume type per source",
    ],
  },
];

const resourceCases: Case[] = [
  {
    name: "resources",
    container: {
      resources: {
        limits: { cpu: "1", memory: "-1", gpu: "1", "example.com/gpu": "500m", "hugepages-2Mi": "3Mi" },
        requests: { cpu: "2", "example.com/gpu": "500m", "other.com/x": "1" },
        claims: [{ name: "c" }],
      },
    },
    faults: [
      'spec.containers[0].resources.limits[memory]: Invalid value: "-1": must be greater than or equal to 0',
      'spec.containers[0].resources.limits[gpu]: Invalid value: "gpu": must be a standard resource type or fully qualified',
      'spec.containers[0].resources.limits[gpu]: Invalid value: "gpu": must be a standard resource for containers',
      'spec.containers[0].resources.limits[example.com/gpu]: Invalid value: "500m": must be an integer',
      'spec.containers[0].resources.limits[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive integer multiple of hugepages-2Mi',
      'spec.containers[0].resources.requests[example.com/gpu]: Invalid value: "500m": must be an integer',
      'spec.containers[0].resources.requests[memory]: Invalid value: "-1": must be greater than or equal to 0',
      'spec.containers[0].resources.requests[gpu]: Invalid value: "gpu": must be a standard resource type or fully qualified',
      'spec.containers[0].resources.requests[gpu]: Invalid value: "gpu": must be a standard resource for containers',
      'spec.containers[0].resources.requests[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive integer multiple of hugepages-2Mi',
      'spec.containers[0].resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1',
      "spec.containers[0].resources.limits: Required value: Limit must be set for non overcommitable resources",
      'spec.containers[0].resources.claims[0]: Not found: "c": must be one of the names in pod.spec.resourceClaims which is empty',
    ],
  },
  {
    name: "resources of the pod as a whole",
    spec: { resources: { requests: { cpu: "1", "ephemeral-storage": "1Gi" }, limits: { cpu: "1" } } },
    container: { resources: { requests: { cpu: "2" }, limits: { cpu: "2" } } },
    faults: [
      'spec.resources.requests[ephemeral-storage]: Unsupported value: "ephemeral-storage": supported values: "cpu", "hugepages-", "memory"',
      'spec.resources.requests[cpu]: Invalid value: "1": must be greater than or equal to aggregate container requests of 2',
      'spec.resources.containers[0][cpu].limits: Invalid value: "2": must be less than or equal to pod limits of 1',
    ],
  },
  {
    name: "resource claims",
    spec: { resourceClaims: [{ name: "a" }, { name: "a", resourceClaimName: "x", resourceClaimTemplateName: "y" }] },
    faults: [
      'spec.resourceClaims[0]: Invalid value: {"name":"a"}: must specify one of: `resourceClaimName`, `resourceClaimTemplateName`',
      'spec.resourceClaims[1].name: Duplicate value: "a"',
      'spec.resourceClaims[1]: Invalid value: {"name":"a","resourceClaimName":"x","resourceClaimTemplateName":"y"}: at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified',
    ],
  },
];

const groups = { containerCases, envCases, probeCases, volumeCases, resourceCases };
for (const [group, cases] of Object.entries(groups)) {
  suite(`a pod is checked: ${group.replace("Cases", "")}`, () => {
    for (const { name, spec, container, metadata, faults } of cases) {
      test(name, () => assert.deepEqual(faultsOf(aPod(spec, container, metadata)), faults));
    }
  });
}

test("every source of a volume counts as one", () => {
  for (const source of Object.keys(Volume.fields).filter((name) => name !== "name")) {
    const faults = faultsOf(aPod({ volumes: [{ name: "v", [source]: {} }] }));
    assert(!faults.includes("spec.volumes[0]: Required value: must specify a volume type"), source);
  }
});
