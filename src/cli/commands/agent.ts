import { readFile } from "node:fs/promises";
import { hostname } from "node:os";
import path from "node:path";
import { parseJoinToken } from "#cluster/join/cluster-info.ts";
import { readJoinFile, writeJoinFile } from "#cluster/join/join-file.ts";
import { makeDirectory } from "#lib/fs/make-directory.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { checkNodeIp, parseFlags, refuseArguments, UserError, wholeNumber } from "../command.ts";
import { checkKubeletConfig, kubeletFiles, kubeletFlags } from "../flags/kubelet-flags.ts";
import { installPackages, nodePackages } from "../packages.ts";
import { program } from "../program.ts";
import { defaultDataDir, runningCluster } from "../running.ts";
import { startInBackground } from "../start/background.ts";
import { explainStart } from "../start-faults.ts";

export const flags = {
  "data-dir": {
    type: "string",
    value: "DIR",
    default: defaultDataDir,
    help: "directory for certificates, images, volumes and logs",
  },
  server: { type: "string", value: "URL", help: "the API server, as in https://10.0.0.1:6443" },
  token: { type: "string", value: "TOKEN", help: "the token by which this machine joins; needed once" },
  "token-file": { type: "string", value: "FILE", help: "a file with the token" },
  "ca-cert-hash": {
    type: "string",
    value: "sha256:HEX",
    multiple: true,
    help: "the hash of the public key of the cluster's certificate authority",
  },
  "ca-file": { type: "string", value: "FILE", help: "the certificate of the cluster's authority, instead of its hash" },
  "unsafe-skip-ca-verification": {
    type: "boolean",
    default: false,
    help: "let the token alone vouch for the cluster; others with the token could deceive this machine",
  },
  "node-name": { type: "string", value: "NAME", default: hostname().toLowerCase(), help: "the name of the node" },
  "node-ip": { type: "string", value: "ADDRESS", help: "the address of the node; default: the machine's first one" },
  "kubelet-port": { type: "string", value: "N", default: "10250", help: "the kubelet's port" },
  ...kubeletFlags,
  foreground: { type: "boolean", default: false, help: "run in this process and log to standard error" },
  verbose: { type: "boolean", short: "v", default: false, help: "log at debug level" },
} as const;

const say = (text: string): void => void process.stdout.write(`${text}\n`);

/** Makes this machine a node of a cluster, in the background. */
export async function run(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseFlags(args, flags);
  refuseArguments("agent", positionals, "--server URL --token TOKEN");
  if (process.getuid?.() !== 0) throw new UserError(`starting containers requires root: run \`sudo ${program} agent\``);
  const dataDir = path.resolve(values["data-dir"]);
  const running = values.foreground ? undefined : await runningCluster(dataDir);
  if (running) {
    say(`orlop: already running: ${running.url} (process ${running.pid}, data in ${dataDir})`);
    return 0;
  }
  await noteJoin(dataDir, values);
  if (values.foreground) {
    const { runAgentInForeground } = await import("../start/agent-foreground.ts");
    return await runAgentInForeground({ dataDir, verbose: values.verbose });
  }
  await installPackages(nodePackages, (text) => say(`orlop: ${text}`));
  const more = values.verbose ? ["--verbose"] : [];
  const { url } = await startInBackground("agent", ["--data-dir", dataDir, ...more], dataDir);
  const where = dataDir === defaultDataDir ? "" : ` --data-dir ${values["data-dir"]}`;
  say(`\nThis machine is a node of ${url}. \`${program} down${where}\` removes everything of it from this machine.`);
  return 0;
}

type Values = ReturnType<typeof parseFlags<typeof flags>>["values"];

/** Writes down what the flags say. Without a server they say nothing new, and an earlier start's words count. */
async function noteJoin(dataDir: string, values: Values): Promise<void> {
  const { server } = values;
  if (server === undefined) {
    if (await readJoinFile(dataDir)) return;
    throw new UserError(`name the cluster: ${program} agent --server https://ADDRESS:PORT --token TOKEN`);
  }
  const url = checkServer(server);
  const kubeletPort = wholeNumber(values["kubelet-port"], "kubelet-port", { min: 1, max: 65535 });
  checkNodeIp(values["node-ip"]);
  await checkKubeletConfig(values);
  const caHashes = values["ca-cert-hash"] ?? [];
  const wrong = caHashes.find((hash) => !/^sha256:[0-9a-f]{64}$/.test(hash));
  if (wrong !== undefined) throw new UserError(`--ca-cert-hash must be sha256: and 64 hex digits, not ${wrong}`);
  const token = await tokenOf(values);
  const ca = values["ca-file"] === undefined ? undefined : await textOf(values["ca-file"], "ca-file");
  if (token && !ca && caHashes.length === 0 && !values["unsafe-skip-ca-verification"]) {
    throw new UserError(
      `say which cluster this is: --ca-cert-hash sha256:HEX as \`${program} token create --print-join-command\` prints it, or --ca-file`,
    );
  }
  await makeDirectory(dataDir, { mode: 0o700 }).catch((error: unknown) => {
    throw explainStart(error, { port: kubeletPort });
  });
  const named = { nodeName: values["node-name"], kubeletPort, address: values["node-ip"] };
  await writeJoinFile(dataDir, {
    server: url,
    ...named,
    token,
    caHashes,
    ca,
    kubeletFiles: kubeletFiles(values),
  });
}

function checkServer(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol === "https:" && !url.username && !url.search && !url.hash) return url.href.replace(/\/$/, "");
  throw new UserError(`--server must be a URL such as https://10.0.0.1:6443, not ${JSON.stringify(text)}`);
}

async function tokenOf(values: Values): Promise<string | undefined> {
  const file = values["token-file"];
  const token = file === undefined ? values.token : (await textOf(file, "token-file")).trim();
  if (token !== undefined) parseJoinToken(token);
  return token;
}

async function textOf(file: string, flag: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    throw new UserError(`cannot read --${flag} ${file}: ${messageOf(error)}`);
  }
}
