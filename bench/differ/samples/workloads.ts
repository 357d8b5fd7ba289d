import { labelSelector, podTemplate, smallPodSpec } from "./pod.ts";
import { type Sample } from "./sample.ts";

const jobTemplate = { metadata: { labels: { app: "a" } }, spec: { ...smallPodSpec, restartPolicy: "Never" } };
const claimTemplate = {
  metadata: { name: "data" },
  spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
};
const scaleTarget = { apiVersion: "apps/v1", kind: "Deployment", name: "web" };

export const workloadSamples: readonly Sample[] = [
  { kind: "ControllerRevision", body: { revision: 3, data: { spec: { replicas: 1 } } } },
  {
    kind: "DaemonSet",
    body: {
      spec: {
        selector: labelSelector,
        template: podTemplate,
        minReadySeconds: 2,
        revisionHistoryLimit: 3,
        updateStrategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: 1 } },
      },
    },
  },
  {
    kind: "Deployment",
    body: {
      spec: {
        replicas: 2,
        selector: labelSelector,
        template: podTemplate,
        strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: "25%", maxUnavailable: 1 } },
        minReadySeconds: 2,
        revisionHistoryLimit: 3,
        progressDeadlineSeconds: 60,
      },
    },
  },
  {
    kind: "ReplicaSet",
    body: { spec: { replicas: 2, minReadySeconds: 1, selector: labelSelector, template: podTemplate } },
  },
  {
    kind: "StatefulSet",
    body: {
      spec: {
        replicas: 2,
        serviceName: "web",
        selector: labelSelector,
        template: podTemplate,
        podManagementPolicy: "Parallel",
        updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition: 1 } },
        persistentVolumeClaimRetentionPolicy: { whenDeleted: "Delete", whenScaled: "Retain" },
        ordinals: { start: 1 },
        volumeClaimTemplates: [claimTemplate],
      },
    },
  },
  {
    kind: "Job",
    body: {
      spec: {
        template: jobTemplate,
        parallelism: 2,
        completions: 4,
        completionMode: "Indexed",
        backoffLimitPerIndex: 1,
        maxFailedIndexes: 2,
        activeDeadlineSeconds: 60,
        ttlSecondsAfterFinished: 5,
        podReplacementPolicy: "Failed",
        podFailurePolicy: {
          rules: [
            { action: "FailJob", onExitCodes: { containerName: "main", operator: "In", values: [1, 2] } },
            { action: "Ignore", onPodConditions: [{ type: "DisruptionTarget", status: "True" }] },
          ],
        },
        successPolicy: { rules: [{ succeededIndexes: "0-2", succeededCount: 1 }] },
      },
    },
  },
  {
    kind: "CronJob",
    body: {
      spec: {
        schedule: "*/5 * * * *",
        timeZone: "Europe/Berlin",
        concurrencyPolicy: "Forbid",
        startingDeadlineSeconds: 30,
        successfulJobsHistoryLimit: 2,
        failedJobsHistoryLimit: 2,
        jobTemplate: { spec: { template: jobTemplate, backoffLimit: 3 } },
      },
    },
  },
  {
    kind: "HorizontalPodAutoscaler",
    apiVersion: "autoscaling/v2",
    body: {
      spec: {
        scaleTargetRef: scaleTarget,
        minReplicas: 1,
        maxReplicas: 5,
        metrics: [
          { type: "Resource", resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 60 } } },
          { type: "Pods", pods: { metric: { name: "hits" }, target: { type: "AverageValue", averageValue: "10" } } },
          {
            type: "Object",
            object: { describedObject: scaleTarget, metric: { name: "hits" }, target: { type: "Value", value: "10" } },
          },
          { type: "External", external: { metric: { name: "queue" }, target: { type: "Value", value: "3" } } },
          {
            type: "ContainerResource",
            containerResource: {
              name: "cpu",
              container: "main",
              target: { type: "Utilization", averageUtilization: 60 },
            },
          },
        ],
        behavior: {
          scaleDown: {
            stabilizationWindowSeconds: 60,
            selectPolicy: "Max",
            policies: [{ type: "Pods", value: 2, periodSeconds: 30 }],
          },
        },
      },
    },
  },
  {
    kind: "HorizontalPodAutoscaler",
    apiVersion: "autoscaling/v1",
    body: { spec: { scaleTargetRef: scaleTarget, minReplicas: 1, maxReplicas: 5, targetCPUUtilizationPercentage: 50 } },
  },
  {
    kind: "PodDisruptionBudget",
    body: { spec: { minAvailable: "50%", selector: labelSelector, unhealthyPodEvictionPolicy: "AlwaysAllow" } },
  },
  {
    kind: "PriorityClass",
    body: { value: 1000, description: "more", preemptionPolicy: "Never" },
  },
  {
    kind: "RuntimeClass",
    body: {
      handler: "runc",
      overhead: { podFixed: { cpu: "10m" } },
      scheduling: { nodeSelector: { a: "b" }, tolerations: [{ key: "k", operator: "Exists" }] },
    },
  },
];
