import { type Probe } from "#api/core/container/probe.ts";
import { isReady } from "#api/core/pod/pod-state.ts";
import { type Explanation } from "../explanation.ts";
import { type PodFacts } from "../facts.ts";
import { lasting, msOf } from "../times.ts";
import { describeEvent, isAbout, lastEvent, type PodPart, partName, partsOf, podName } from "./pod-parts.ts";

/** All containers run, but the pod is not ready: hop 12. */
export function explainNotReady(facts: PodFacts): Explanation | undefined {
  const { pod } = facts;
  if (isReady(pod) || pod.status.phase !== "Running") return undefined;
  const part = partsOf(pod).find(({ isInit, status }) => !isInit && status?.state.running && !status.ready);
  if (!part) return gatesOpen(facts);
  const kind = part.container.startupProbe && !part.status?.started ? "startup" : "readiness";
  return probeFailing(facts, part, kind);
}

function probeFailing(facts: PodFacts, part: PodPart, kind: "startup" | "readiness"): Explanation {
  const probe = part.container[`${kind}Probe`];
  const title = kind === "startup" ? "Startup" : "Readiness";
  const event = lastEvent(facts, ["Unhealthy"], (each) => isAbout(part)(each) && each.message.startsWith(title));
  const answer = event ? event.message.replace(/^\w+ probe (failed|errored[^:]*): ?/, "").trim() : "";
  const sinceMs = msOf(part.status?.state.running?.startedAt);
  const is = probe
    ? event
      ? `its ${kind} probe fails${answer ? `: ${answer.split("\n")[0]}` : " without a message"}`
      : `its ${kind} probe has not passed yet`
    : "it has just started";
  return {
    hop: "serve",
    state: "NotReady",
    headline: `Pod ${podName(facts.pod)} runs but is not ready because ${partName(part)} is not: ${is}.`,
    evidence: [
      `running ${lasting(sinceMs, facts.nowMs)}`,
      ...(probe ? [`${kind} probe: ${describeProbe(probe)}`] : []),
      ...(event ? [describeEvent(event, facts.nowMs)] : []),
    ],
    advice: probe
      ? [
          `Make the program answer the probe, or correct the probe's path, port, scheme or timeout (${probe.timeoutSeconds}s).`,
          ...(kind === "startup"
            ? [`After ${probe.failureThreshold} failures in a row it is killed and restarted.`]
            : ["Services send it no traffic until it passes."]),
        ]
      : ["Ask again in a moment."],
  };
}

/** `GET http://:8080/healthz every 10s, fails after 3 failures in a row`. */
function describeProbe({ httpGet, tcpSocket, exec, grpc, periodSeconds, failureThreshold }: Probe): string {
  const what = httpGet
    ? `GET ${(httpGet.scheme ?? "HTTP").toLowerCase()}://${httpGet.host ?? ""}:${httpGet.port}${httpGet.path ?? "/"}`
    : tcpSocket
      ? `connect to port ${tcpSocket.port}`
      : grpc
        ? `gRPC health of port ${grpc.port}`
        : `run ${(exec?.command ?? []).join(" ")}`;
  return `${what} every ${periodSeconds}s, fails after ${failureThreshold} ${failureThreshold === 1 ? "failure" : "failures in a row"}`;
}

function gatesOpen({ pod, nowMs }: PodFacts): Explanation | undefined {
  const ready = pod.status.conditions?.find(({ type }) => type === "Ready");
  const open = (pod.spec.readinessGates ?? []).filter(
    ({ conditionType }) =>
      !pod.status.conditions?.some(({ type, status }) => type === conditionType && status === "True"),
  );
  if (open.length === 0) return undefined;
  const names = open.map(({ conditionType }) => conditionType);
  return {
    hop: "serve",
    state: "NotReady",
    headline: `Pod ${podName(pod)} runs, but its readiness gate ${names.join(" and ")} is not met.`,
    evidence: [
      `Ready is ${ready?.status ?? "unknown"} ${lasting(msOf(ready?.lastTransitionTime), nowMs)}: ${ready?.message ?? ""}`,
    ],
    advice: [`Find the controller that should set the condition ${names.join(" and ")} in the pod's status.`],
  };
}
