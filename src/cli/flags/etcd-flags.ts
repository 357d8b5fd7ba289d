import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { type EtcdSettings } from "#cluster/open-store.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { UserError } from "../command.ts";

/** Where the state is, for the commands that use etcd; the names are upstream's. */
export const etcdFlags = {
  "etcd-servers": {
    type: "string",
    value: "URLS",
    help: "keep the state in this etcd: https://HOST:PORT of each member, separated by commas",
  },
  "etcd-cafile": {
    type: "string",
    value: "FILE",
    help: "certificates of the authorities that sign etcd's certificate",
  },
  "etcd-certfile": { type: "string", value: "FILE", help: "client certificate for etcd" },
  "etcd-keyfile": { type: "string", value: "FILE", help: "private key of the client certificate for etcd" },
  "etcd-prefix": { type: "string", value: "PATH", default: "/registry", help: "how all keys in etcd start" },
} as const;

export type EtcdValues = { readonly [flag in keyof typeof etcdFlags]?: string | undefined };

const maxServers = 16;

/** undefined without `--etcd-servers`. */
export async function etcdSettings(values: EtcdValues): Promise<EtcdSettings | undefined> {
  const { "etcd-servers": urls, "etcd-prefix": prefix = "/registry" } = values;
  if (!urls) {
    refuseAlone(values);
    return undefined;
  }
  const servers = urls.split(",").map(serverUrl);
  if (servers.length > maxServers) throw new UserError(`--etcd-servers names more than ${maxServers} members`);
  if (!/^(\/[\w.-]{1,100}){1,10}$/.test(prefix))
    throw new UserError(`--etcd-prefix must be a path such as /registry, not ${JSON.stringify(prefix)}`);
  const tls = await readTls(values);
  if (Object.keys(tls).length > 0 && servers.some((server) => server.startsWith("http:")))
    throw new UserError("--etcd-servers must be https URLs if there are certificates for etcd");
  return { servers, prefix, tls };
}

function refuseAlone(values: EtcdValues): void {
  const alone = (["etcd-cafile", "etcd-certfile", "etcd-keyfile"] as const).find((flag) => values[flag]);
  if (alone) throw new UserError(`--${alone} needs --etcd-servers`);
}

/** Only scheme, host and port: anything else would be ignored. */
function serverUrl(text: string): string {
  const url = URL.canParse(text.trim()) ? new URL(text.trim()) : undefined;
  const isPlain = url && (url.protocol === "https:" || url.protocol === "http:") && url.host !== "";
  if (!isPlain || url.username || url.password || url.pathname !== "/" || url.search || url.hash) {
    throw new UserError(`--etcd-servers must be URLs such as https://10.0.0.1:2379, not ${JSON.stringify(text)}`);
  }
  return url.origin;
}

async function readTls(values: EtcdValues): Promise<NonNullable<EtcdSettings["tls"]>> {
  const { "etcd-cafile": caFile, "etcd-certfile": certFile, "etcd-keyfile": keyFile } = values;
  if (!certFile !== !keyFile) throw new UserError("--etcd-certfile and --etcd-keyfile must be given together");
  const [ca, cert, key] = await Promise.all([
    caFile && readPem(caFile, "etcd-cafile", (pem) => new X509Certificate(pem)),
    certFile && readPem(certFile, "etcd-certfile", (pem) => new X509Certificate(pem)),
    keyFile && readPem(keyFile, "etcd-keyfile", (pem) => createPrivateKey(pem)),
  ]);
  return { ...(ca ? { ca } : {}), ...(cert ? { cert } : {}), ...(key ? { key } : {}) };
}

async function readPem(file: string, flag: string, parse: (pem: string) => unknown): Promise<string> {
  try {
    const pem = await readFile(file, "utf8");
    parse(pem);
    return pem;
  } catch (error) {
    throw new UserError(`--${flag}: cannot use ${file}: ${messageOf(error)}`);
  }
}
