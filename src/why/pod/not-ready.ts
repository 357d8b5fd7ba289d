import { type Probe } from "#api/core/container/probe.ts";
import { isReady } from "#api/core/pod/pod-state.ts";
import { type Explanation } from "../explanation.ts";
import { type PodFacts } from "../facts.ts";
import { lasting, msOf } from "../times.ts";
import { isAbout, lastEvent, type PodPart, partName, partsOf, podName, tellEvent } from "./pod-parts.ts";

/** Everything runs and yet the pod is not ready: hop 12. */
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
      ? `its ${kind} probe fails${answer ? `: ${answer.split("\n")[0]}` : " and says nothing"}`
      : `its ${kind} probe has not passed yet`
    : "it has only just started";
  return {
    hop: "serve",
    state: "NotReady",
    headline: `Pod ${podName(facts.pod)} runs but is not ready because ${partName(part)} is not: ${is}.`,
    evidence: [
      `running ${lasting(sinceMs, facts.nowMs)}`,
      ...(probe ? [`${kind} probe: ${describeProbe(probe)}`] : []),
      ...(event ? [tellEvent(event, facts.nowMs)] : []),
    ],
    advice: probe
      ? [
          `Make the program answer the probe, or correct it: path, port, scheme, timeout (${probe.timeoutSeconds}s).`,
          ...(kind === "startup"
            ? [`After ${probe.failureThreshold} failures in a row it is killed and started again.`]
            : ["Services send it no traffic until it passes."]),
        ]
      : ["Ask again in a moment."],
  };
}

/** `GET :8080/healthz every 10s, 3 failures in a row count`. */
function describeProbe({ httpGet, tcpSocket, exec, grpc, periodSeconds, failureThreshold }: Probe): string {
  const what = httpGet
    ? `GET ${(httpGet.scheme ?? "HTTP").toLowerCase()}://${httpGet.host ?? ""}:${httpGet.port}${httpGet.path ?? "/"}`
    : tcpSocket
      ? `connect to port ${tcpSocket.port}`
      : grpc
        ? `gRPC health of port ${grpc.port}`
        : `run ${(exec?.command ?? []).join(" ")}`;
  return `${what} every ${periodSeconds}s, ${failureThreshold} failures in a row count`;
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
    headline: `Pod ${podName(pod)} runs, but its readiness gate ${names.join(" and ")} is not fulfilled.`,
    evidence: [
      `Ready is ${ready?.status ?? "unknown"} ${lasting(msOf(ready?.lastTransitionTime), nowMs)}: ${ready?.message ?? ""}`,
    ],
    advice: [`Whoever is to set the condition ${names.join(" and ")} in the pod's status has not done so.`],
  };
}
