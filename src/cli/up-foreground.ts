import { Node } from "#api/core/node.ts";
import { type ControlPlane, serviceAddress, startControlPlane } from "#cluster/control-plane.ts";
import { dnsUser, nodeUser, provisionerUser } from "#cluster/identities.ts";
import { loadKubeletConfig } from "#cluster/kubelet-config/load.ts";
import { runNode } from "#cluster/node.ts";
import { systemClock, timestamp } from "#lib/async/clock.ts";
import { isAbort, runTogether, shutdownSignal } from "#lib/async/tasks.ts";
import { systemRandom } from "#lib/data/random.ts";
import { giveBackMemory } from "#lib/process/give-back-memory.ts";
import { limitedLog } from "#lib/process/limited-log.ts";
import { writeStandardError } from "#lib/process/log.ts";
import { isStandardError, openLogFile } from "#lib/process/log-file.ts";
import { raisePriority } from "#lib/process/priority.ts";
import { ownPid } from "#lib/process/processes.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { logFile } from "./data-dir.ts";
import { type KubeletValues, kubeletConfigFile } from "./flags/kubelet-flags.ts";
import { type ServerValues, serverOptions } from "./flags/server-flags.ts";
import { progressWriter } from "./progress.ts";
import { writeRecord } from "./running.ts";
import { explainStart } from "./start-faults.ts";

export interface UpValues extends ServerValues, KubeletValues {
  readonly dataDir: string;
  readonly port: string;
  readonly "node-name": string;
  readonly "cluster-cidr": string;
  readonly "service-cidr": string;
  readonly "kubelet-port": string;
  readonly verbose: boolean;
}

/** Runs the whole cluster in this process: control plane and node. */
export async function runInForeground(values: UpValues): Promise<number> {
  const started = systemClock.now();
  const progress = progressWriter(values.dataDir, started);
  try {
    return await runCluster(values, progress);
  } catch (error) {
    const explained = explainStart(error, values);
    progress(messageOf(explained), "failed");
    throw explained;
  }
}

async function runCluster(values: UpValues, progress: ReturnType<typeof progressWriter>): Promise<number> {
  const { dataDir } = values;
  const log = limitedLog(logWriter(dataDir), { clock: systemClock, level: values.verbose ? "debug" : "info" });
  const base = { clock: systemClock, log, random: systemRandom };
  if (!raisePriority()) log.warn("pods may slow down the API server: raising its priority needs CAP_SYS_NICE");
  const { signal, beforeEnd } = endAfter(shutdownSignal());
  const kubelet = await loadKubeletConfig(kubeletConfigFile(values));
  const sinceMs = systemClock.now();
  await using plane = await startControlPlane({
    ...base,
    dataDir,
    store: "sqlite",
    host: "0.0.0.0",
    port: Number(values.port),
    serviceCidr: values["service-cidr"],
    clusterCidr: values["cluster-cidr"],
    ...(await serverOptions(values)),
  });
  const nodeName = values["node-name"];
  await writeRecord(dataDir, { pid: ownPid(), url: plane.url, nodeName, startedAt: timestamp(systemClock.now()) });
  progress(`the API server is serving at ${plane.url}`);
  try {
    await runTogether(signal, [
      (ended) => plane.run(ended),
      (ended) => runNode({ ...base, ...nodeOptions(values, plane), kubelet, beforeEnd, progress }, ended),
      (ended) => reportReady(plane, nodeName, { progress, sinceMs, signal: ended }),
      (ended) => giveBackMemory({ clock: systemClock }, ended),
    ]);
  } catch (error) {
    if (!isAbort(error, signal)) throw error;
  }
  return 0;
}

/** A signal that fires after the first one, when what has to happen before the end is done. */
function endAfter(asked: AbortSignal) {
  const ending = new AbortController();
  let work = (): Promise<void> => Promise.resolve();
  const end = () => ending.abort(asked.reason);
  asked.addEventListener("abort", () => void work().then(end, end), { once: true });
  const beforeEnd = (wanted: () => Promise<void>): void => {
    work = wanted;
  };
  return { signal: ending.signal, beforeEnd };
}

/** In the background, standard error is the log file in the data directory, and its size must stay bounded. */
function logWriter(dataDir: string): (line: string) => void {
  const file = logFile(dataDir);
  return isStandardError(file) ? openLogFile(file) : writeStandardError;
}

function nodeOptions(values: UpValues, plane: ControlPlane) {
  const nodeName = values["node-name"];
  return {
    nodeName,
    dataDir: values.dataDir,
    clusterCidr: values["cluster-cidr"],
    serviceCidr: values["service-cidr"],
    dnsAddress: serviceAddress([values["service-cidr"]], 10),
    kubeletPort: Number(values["kubelet-port"]),
    apiPort: plane.port,
    client: plane.clientFor(nodeUser(nodeName)),
    dnsClient: plane.clientFor(dnsUser),
    provisionerClient: plane.clientFor(provisionerUser),
    informers: plane.api.informers,
    recorder: plane.api.recorder,
    certificates: plane.certificates,
  };
}

/** Reports once that the node accepts pods. */
async function reportReady(
  { api }: ControlPlane,
  nodeName: string,
  { progress, sinceMs, signal }: { progress: ReturnType<typeof progressWriter>; sinceMs: number; signal: AbortSignal },
): Promise<void> {
  const isReady = Promise.withResolvers<void>();
  const stop = api.informers.of(Node).subscribe(({ type, object }) => {
    if (type === "put" && object.metadata.name === nodeName && isReadySince(object, sinceMs)) isReady.resolve();
  });
  signal.addEventListener("abort", () => isReady.resolve(), { once: true });
  await isReady.promise;
  stop();
  if (!signal.aborted) progress(`node ${nodeName} is Ready`, "ready");
  if (!signal.aborted)
    await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}

/** Conditions that an earlier kubelet wrote do not count. Heartbeats are in whole seconds. */
export function isReadySince({ status }: Node, sinceMs: number): boolean {
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  return ready?.status === "True" && Date.parse(ready.lastHeartbeatTime ?? "") >= sinceMs - (sinceMs % 1000);
}
