import { readFile } from "node:fs/promises";
import { hostname } from "node:os";
import path from "node:path";
import { nodeNames, notedRange } from "#cluster/node-names.ts";
import { makeDirectory } from "#lib/fs/make-directory.ts";
import { type DualRange, parseCidr6, parseDualRange } from "#lib/net/dual-range.ts";
import { parseCidr } from "#lib/net/ip.ts";
import { checkMachine, isServing, rangeFlags } from "../check-machine.ts";
import {
  addressRange,
  checkNodeIp,
  dualRange,
  parseFlags,
  refuseArguments,
  UserError,
  wholeNumber,
} from "../command.ts";
import { type IngressValues, ingressFlags, ingressPorts } from "../flags/ingress-flags.ts";
import { checkKubeletConfig, kubeletFlags } from "../flags/kubelet-flags.ts";
import { serverFlags, serverOptions } from "../flags/server-flags.ts";
import { installPackages, nodePackages } from "../packages.ts";
import { program } from "../program.ts";
import { defaultDataDir, runningCluster } from "../running.ts";
import { startInBackground } from "../start/background.ts";
import { explainStart } from "../start-faults.ts";
import { addContext, checkKubeconfig, userKubeconfigPath } from "../user-kubeconfig.ts";

export const flags = {
  "data-dir": {
    type: "string",
    value: "DIR",
    default: defaultDataDir,
    help: "directory for state, certificates, images and logs",
  },
  port: { type: "string", value: "N", default: "6443", help: "the API server's port, on all addresses" },
  "node-name": { type: "string", value: "NAME", default: hostname().toLowerCase(), help: "the name of the node" },
  nodes: { type: "string", value: "N", default: "1", help: "how many nodes, each with its own network and containerd" },
  "node-ip": { type: "string", value: "ADDRESS", help: "the address of the node; default: the machine's first one" },
  ...rangeFlags,
  "kubelet-port": { type: "string", value: "N", default: "10250", help: "the kubelet's port" },
  ...kubeletFlags,
  ...ingressFlags,
  foreground: { type: "boolean", default: false, help: "run in this process and log to standard error" },
  verbose: { type: "boolean", short: "v", default: false, help: "log at debug level" },
  ...serverFlags,
  // There is no cloud that could give services their addresses, so the nodes do.
  controllers: { ...serverFlags.controllers, default: "*,service-lb-controller" },
} as const;

const say = (text: string): void => void process.stdout.write(`${text}\n`);

/** Starts a cluster with real containers on this machine, in the background, and says how to use it. */
export async function run(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseFlags(args, flags);
  refuseArguments("up", positionals, "--data-dir DIR --port N");
  requireRoot();
  checkFlags(values);
  await serverOptions(values);
  await checkKubeletConfig(values);
  const dataDir = path.resolve(values["data-dir"]);
  if (values.foreground) {
    await makeDataDir(dataDir, values);
    const { runInForeground } = await import("../up-foreground.ts");
    return await runInForeground({ ...values, dataDir });
  }
  const running = await runningCluster(dataDir);
  const file = userKubeconfigPath(process.env);
  await checkKubeconfig(file);
  const where = dataDir === defaultDataDir ? "" : ` --data-dir ${values["data-dir"]}`;
  if (running) {
    await useRunning({ ...running, dataDir }, { file, where });
    return 0;
  }
  const noted = await notedRange(dataDir);
  await checkMachine({ ...needsOf(values, dataDir), ownRange: noted && parseDualRange(noted).ipv4 });
  await installPackages(nodePackages, (text) => say(`orlop: ${text}`));
  await makeDataDir(dataDir, values);
  const { url } = await startInBackground("up", args, dataDir);
  greet(await useContext(file, { dataDir, url }), { file, where });
  return 0;
}

function requireRoot(): void {
  if (process.getuid?.() === 0) return;
  throw new UserError(
    `starting containers requires root: run \`sudo ${program} up\`, or \`${program} server\` for a control plane without containers`,
  );
}

type Needs = {
  readonly [flag in "port" | "kubelet-port" | "nodes" | "cluster-cidr" | "service-cidr" | "node-cidr"]: string;
} & { readonly "node-ip"?: string | undefined };

function checkFlags(values: Needs & IngressValues): void {
  for (const flag of ["port", "kubelet-port"] as const) wholeNumber(values[flag], flag, { min: 1, max: 65535 });
  ingressPorts(values);
  // DNS gets the tenth address of the service range, and a node's pods get a /24.
  const services = dualRange(values["service-cidr"], "service-cidr", { maxBits: 28, minBits6: 64, maxBits6: 124 });
  const pods = dualRange(values["cluster-cidr"], "cluster-cidr", { maxBits: 24, minBits6: 8, maxBits6: 64 });
  checkFamilies(pods, services);
  addressRange(values["node-cidr"], "node-cidr", { maxBits: 28 });
  wholeNumber(values.nodes, "nodes", { min: 1, max: maxNodes });
  checkNodeIp(values["node-ip"]);
}

/** Pods and services have the same families, and every node that has a /24 also has a /64. */
function checkFamilies(pods: DualRange, services: DualRange): void {
  if ((pods.ipv6 === undefined) !== (services.ipv6 === undefined)) {
    throw new UserError("give both --cluster-cidr and --service-cidr an IPv6 range, or neither");
  }
  const needed = 64 - (24 - parseCidr(pods.ipv4).bits);
  if (pods.ipv6 && parseCidr6(pods.ipv6).bits > needed) {
    throw new UserError(`--cluster-cidr must have a larger IPv6 range: a /${needed} for the nodes of ${pods.ipv4}`);
  }
}

/** A node-cidr of 16 addresses has room for these, besides the first node and both ends of the range. */
const maxNodes = 13;

/** Which kubeconfig kubectl uses, and the flag that other commands need to find the cluster. */
interface Access {
  readonly file: string;
  readonly where: string;
}

async function useRunning(
  { url, pid, dataDir }: { readonly url: string; readonly pid: number; readonly dataDir: string },
  { file, where }: Access,
): Promise<void> {
  say(`orlop: already running: ${url} (process ${pid}, data in ${dataDir})`);
  const context = await useContext(file, { dataDir, url });
  say(`orlop: kubectl now uses it (context "${context}" in ${file})`);
  say(`orlop: \`${program} status${where}\` shows it, \`${program} down${where}\` stops it`);
}

/** Suggests what to do with the new cluster. */
function greet(context: string, { file, where }: Access): void {
  say("");
  say(`The cluster is up, and kubectl now uses it (context "${context}" in ${file}):`);
  say("");
  const example = path.relative("", path.resolve(import.meta.dirname, "../../../examples/web.yaml"));
  const hints = [
    ["kubectl get nodes"],
    [`kubectl apply -f ${example}`],
    [`${program} trace deploy/web`, "see where the time went, hop by hop"],
    [`${program} why pod/NAME`, "see why a pod is stuck"],
    [`${program} down${where}`, "stop the cluster and leave nothing behind"],
  ];
  const width = Math.max(...hints.map(([command = "", what]) => (what ? command.length : 0)));
  for (const [command = "", what = ""] of hints) say(`  ${what ? `${command.padEnd(width)}  ${what}` : command}`);
}

async function makeDataDir(dataDir: string, ports: Parameters<typeof explainStart>[1]): Promise<void> {
  await makeDirectory(dataDir, { mode: 0o700 }).catch((error: unknown) => {
    throw explainStart(error, ports);
  });
}

const ranges = ["cluster-cidr", "service-cidr"] as const;
const rangesOfNodes = [...ranges, "node-cidr"] as const;

function needsOf(values: Needs & IngressValues, dataDir: string) {
  const ingress = values.ingress ? (["ingress-http-port", "ingress-https-port"] as const) : [];
  const flags = Number(values.nodes) > 1 ? rangesOfNodes : ranges;
  const { bridge, nodeBridge } = nodeNames(dataDir);
  return {
    ports: (["port", "kubelet-port", ...ingress] as const).map((flag) => ({ flag, port: Number(values[flag]) })),
    ranges: flags.map((flag) => ({ flag, cidr: parseDualRange(values[flag]).ipv4 })),
    ownLinks: [bridge, nodeBridge],
  };
}

async function useContext(file: string, { dataDir, url }: { dataDir: string; url: string }): Promise<string> {
  const kubeconfig = await readFile(path.join(dataDir, "kubeconfig"), "utf8");
  return await addContext(file, { kubeconfig, url, answers: isServing });
}
