import { type ControlPlane, startControlPlane } from "#cluster/control-plane.ts";
import { dnsUser, ingressUser, nodeUser, provisionerUser } from "#cluster/identities.ts";
import { serviceAddress } from "#cluster/join/announce.ts";
import { loadKubeletFiles } from "#cluster/kubelet-config/load.ts";
import { openMachineLinks } from "#cluster/machines/machine-links.ts";
import { type MachinesPlan, planMachines } from "#cluster/machines/plan-machines.ts";
import { runNode } from "#cluster/node.ts";
import { ownIdentity } from "#cluster/serve-kubelet.ts";
import { systemClock, timestamp } from "#lib/async/clock.ts";
import { isAbort, isInterrupted, runTogether, shutdownSignal } from "#lib/async/tasks.ts";
import { systemRandom } from "#lib/data/random.ts";
import { parseDualRange } from "#lib/net/dual-range.ts";
import { giveBackMemory } from "#lib/process/give-back-memory.ts";
import { limitedLog } from "#lib/process/limited-log.ts";
import { raisePriority } from "#lib/process/priority.ts";
import { ownPid } from "#lib/process/processes.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { type IngressValues, ingressPorts } from "./flags/ingress-flags.ts";
import { type KubeletValues, kubeletFiles } from "./flags/kubelet-flags.ts";
import { type ServerValues, serverOptions } from "./flags/server-flags.ts";
import { progressWriter } from "./progress.ts";
import { writeRecord } from "./running.ts";
import { logWriter, reportReady } from "./start/report-ready.ts";
import { runMachines } from "./start/run-machines.ts";
import { explainStart } from "./start-faults.ts";

export interface UpValues extends ServerValues, IngressValues, KubeletValues {
  readonly dataDir: string;
  readonly port: string;
  readonly "node-name": string;
  readonly "cluster-cidr": string;
  readonly "service-cidr": string;
  readonly "kubelet-port": string;
  readonly nodes: string;
  readonly "node-cidr": string;
  readonly "node-ip"?: string | undefined;
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
  const files = kubeletFiles(values);
  const kubelet = await loadKubeletFiles(files);
  const sinceMs = systemClock.now();
  const machines = machinesOf(values);
  if (machines) await openMachineLinks(machines);
  const address = values["node-ip"] ?? machines?.gateway;
  await using plane = await startControlPlane({
    ...base,
    dataDir,
    store: "sqlite",
    host: "0.0.0.0",
    port: Number(values.port),
    serviceCidr: values["service-cidr"],
    clusterCidr: values["cluster-cidr"],
    address,
    ...(await serverOptions(values)),
  });
  const nodeName = values["node-name"];
  const names = [nodeName, ...(machines?.machines.map((machine) => machine.nodeName) ?? [])];
  await writeRecord(dataDir, { pid: ownPid(), url: plane.url, nodeName, startedAt: timestamp(systemClock.now()) });
  progress(`the API server is serving at ${plane.url}`);
  const usable = Promise.withResolvers<void>();
  const further = values.ingress ? { what: "the Gateway API", isReady: usable.promise } : undefined;
  const node = { ...base, ...nodeOptions(values, plane, usable.resolve), kubelet, beforeEnd, address, progress };
  try {
    await runTogether(signal, [
      (ended) => plane.run(ended),
      (ended) => runNode(node, ended),
      (ended) =>
        reportReady(plane.api.informers, names, { progress, sinceMs, signal: ended, clock: systemClock, further }),
      (ended) => runMachines(machines, { plane, log, verbose: values.verbose, kubeletFiles: files }, ended),
      (ended) => giveBackMemory({ clock: systemClock, heldBytes: () => plane.heldBytes() }, ended),
    ]);
  } catch (error) {
    if (!isAbort(error, signal)) throw error;
  }
  return isInterrupted(signal) ? 130 : 0;
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

/** Further nodes on this machine, if there are any. */
function machinesOf(values: UpValues): MachinesPlan | undefined {
  const count = Number(values.nodes);
  if (count < 2) return undefined;
  const { dataDir, "node-name": nodeName, "node-cidr": nodeCidr, "cluster-cidr": clusterCidr } = values;
  return planMachines({ dataDir, nodeName, count, nodeCidr, clusterCidr: parseDualRange(clusterCidr).ipv4 });
}

function nodeOptions(values: UpValues, plane: ControlPlane, onUsable: () => void) {
  const nodeName = values["node-name"];
  const ports = ingressPorts(values);
  return {
    nodeName,
    dataDir: values.dataDir,
    clusterCidr: values["cluster-cidr"],
    serviceCidr: values["service-cidr"],
    dnsAddress: serviceAddress(values["service-cidr"].split(","), 10),
    kubeletPort: Number(values["kubelet-port"]),
    apiPort: plane.port,
    client: plane.clientFor(nodeUser(nodeName)),
    dnsClient: plane.clientFor(dnsUser),
    provisionerClient: plane.clientFor(provisionerUser),
    ingress: ports && { ...ports, client: plane.clientFor(ingressUser), onUsable },
    informers: plane.api.informers,
    networkInformers: plane.api.informers,
    recorder: plane.api.recorder,
    identity: ownIdentity(plane.certificates, nodeName, systemClock),
  };
}
