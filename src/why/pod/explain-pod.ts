import { isReady } from "#api/core/pod/pod-state.ts";
import { counted, type Explain, type Explanation, firstOf } from "../explanation.ts";
import { type PodFacts } from "../facts.ts";
import { explainNoTraffic } from "../traffic.ts";
import { explainCrashes, explainRestarts } from "./crashes.ts";
import { explainEndingPod } from "./ending.ts";
import { explainFinished } from "./finished.ts";
import { explainImages } from "./images.ts";
import { explainLostNode } from "./lost-node.ts";
import { explainNotReady } from "./not-ready.ts";
import { explainCreating, explainStartErrors } from "./not-started.ts";
import { podName } from "./pod-parts.ts";
import { explainUnplaced } from "./unplaced.ts";

/** Deletion and the end of the pod come first, then the hops in their order. */
const families: readonly Explain<PodFacts>[] = [
  explainEndingPod,
  explainFinished,
  explainUnplaced,
  explainLostNode,
  explainImages,
  explainStartErrors,
  explainCrashes,
  explainCreating,
  explainNotReady,
  unserved,
  explainRestarts,
];

export const explainPod = (facts: PodFacts): Explanation => firstOf(families, facts) ?? fine(facts);

/** The pod is ready, but a service that selects it does not reach it. */
function unserved({ services, pod }: PodFacts): Explanation | undefined {
  if (!isReady(pod)) return undefined;
  for (const service of services) {
    const explanation = explainNoTraffic(service, explainPod);
    if (!explanation) continue;
    const headline = `Pod ${podName(pod)} is ready, but gets no traffic from one of its services: ${explanation.headline}`;
    return { ...explanation, headline };
  }
  return undefined;
}

function fine({ pod, services }: PodFacts): Explanation {
  const restarts = (pod.status.containerStatuses ?? []).reduce((sum, { restartCount }) => sum + restartCount, 0);
  const names = services.map(({ service }) => service.metadata.name);
  return {
    hop: undefined,
    state: isReady(pod) ? "Ready" : (pod.status.phase ?? "Unknown"),
    headline: isReady(pod)
      ? `Pod ${podName(pod)} is ready: nothing is stuck.`
      : `Pod ${podName(pod)} is ${pod.status.phase ?? "new"}, and nothing seems to hold it up.`,
    evidence: [
      `on node ${pod.spec.nodeName}, address ${pod.status.podIP ?? "none"}, ${counted(restarts, "restart")}`,
      names.length > 0 ? `services that lead to it: ${names.join(", ")}` : "no service selects it",
    ],
    advice: [],
  };
}
