import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { unauthorized } from "#api/status.ts";
import { type Clock } from "#lib/async/clock.ts";
import type { ClientConfig, ExecConfig, Impersonation } from "../client-config.ts";

/**
 * The caller's credentials, kept fresh: token files are read again, and programs run again when their token expires.
 */
export interface Credentials {
  headers(): Promise<Readonly<Record<string, string | string[]>>>;
  /** A certificate from a program, if it returned one. */
  certificate(): Promise<{ cert: string; key: string } | undefined>;
  /** The server answered 401: drops credentials that can be renewed, and returns whether there were any. */
  refused(): boolean;
}

export interface CredentialsDeps {
  readonly clock: Clock;
  /** The environment of credential programs. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** A user can answer a program's questions. */
  readonly interactive?: boolean;
}

interface Secret {
  readonly token?: string;
  readonly certificate?: { cert: string; key: string };
  /** Milliseconds since the epoch; undefined if it is valid until refused. */
  readonly expiresAt: number | undefined;
}

export function createCredentials(config: ClientConfig, deps: CredentialsDeps): Credentials {
  const { auth, impersonate } = config;
  const fixed = { ...basicHeader(config), ...(impersonate ? impersonationHeaders(impersonate) : {}) };
  const fetchSecret = secretSource(config, deps);
  let secret: Secret | undefined;
  let fetching: Promise<Secret> | undefined;

  const current = async (): Promise<Secret | undefined> => {
    if (!fetchSecret) return undefined;
    if (secret && (secret.expiresAt === undefined || deps.clock.now() < secret.expiresAt)) return secret;
    fetching ??= fetchSecret().finally(() => {
      fetching = undefined;
    });
    secret = await fetching;
    return secret;
  };
  return {
    async headers() {
      const token = (await current())?.token ?? auth?.token;
      return token ? { ...fixed, authorization: `Bearer ${token}` } : fixed;
    },
    certificate: async () => (await current())?.certificate,
    refused() {
      secret = undefined;
      return fetchSecret !== undefined;
    },
  };
}

function secretSource({ auth, server, tls }: ClientConfig, deps: CredentialsDeps): (() => Promise<Secret>) | undefined {
  const { exec, tokenFile } = auth ?? {};
  if (tokenFile) return () => readTokenFile(tokenFile, deps.clock);
  if (exec) return () => runExec(exec, { server, ...(tls?.ca ? { ca: tls.ca } : {}) }, deps);
  return undefined;
}

const tokenFileLifeMs = 60_000;

async function readTokenFile(path: string, clock: Clock): Promise<Secret> {
  try {
    return { token: (await readFile(path, "utf8")).trim(), expiresAt: clock.now() + tokenFileLifeMs };
  } catch (cause) {
    throw unauthorized(`cannot read the token file ${path}: ${String(cause)}`);
  }
}

function basicHeader({ auth }: ClientConfig): Record<string, string> {
  if (!auth?.basic) return {};
  const { username, password } = auth.basic;
  return { authorization: `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}` };
}

/** Header names contain the extra keys, so those are escaped. */
function impersonationHeaders({ user, uid, groups, extra }: Impersonation): Record<string, string | string[]> {
  const headers: Record<string, string | string[]> = { "impersonate-user": user };
  if (uid) headers["impersonate-uid"] = uid;
  if (groups.length > 0) headers["impersonate-group"] = [...groups];
  for (const [key, values] of Object.entries(extra)) {
    headers[`impersonate-extra-${encodeURIComponent(key).toLowerCase()}`] = [...values];
  }
  return headers;
}

interface ExecAnswer {
  status?: {
    token?: string;
    clientCertificateData?: string;
    clientKeyData?: string;
    expirationTimestamp?: string;
  };
}

async function runExec(
  exec: ExecConfig,
  cluster: { readonly server: string; readonly ca?: string },
  { env = {}, interactive = false }: CredentialsDeps,
): Promise<Secret> {
  const asks = exec.interactiveMode !== "Never" && interactive;
  if (exec.interactiveMode === "Always" && !asks) {
    throw unauthorized(`the credential program ${exec.command} needs a terminal, and there is none`);
  }
  const info = {
    kind: "ExecCredential",
    apiVersion: exec.apiVersion,
    spec: { interactive: asks, ...(exec.provideClusterInfo ? { cluster: clusterInfo(cluster) } : {}) },
  };
  const output = await outputOf(exec, { ...env, ...exec.env, KUBERNETES_EXEC_INFO: JSON.stringify(info) }, asks);
  return secretFrom(exec, output);
}

const clusterInfo = ({ server, ca }: { readonly server: string; readonly ca?: string }) => ({
  server,
  ...(ca ? { "certificate-authority-data": Buffer.from(ca).toString("base64") } : {}),
});

function outputOf(
  { command, args, installHint }: ExecConfig,
  env: Record<string, string | undefined>,
  asks: boolean,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { env, stdio: [asks ? "inherit" : "ignore", "pipe", "inherit"] });
    const chunks: Buffer[] = [];
    const fail = (why: string) =>
      reject(unauthorized(`the credential program ${command} ${why}${installHint ? `\n\n${installHint}` : ""}`));
    child.stdout?.on("data", (chunk: Buffer) => chunks.push(chunk));
    child.on("error", (error) => fail(`cannot be run: ${error.message}`));
    child.on("close", (code, signal) => {
      if (code === 0) resolve(Buffer.concat(chunks).toString());
      else fail(`failed with ${signal ?? `exit code ${code}`}`);
    });
  });
}

function secretFrom({ command, apiVersion }: ExecConfig, output: string): Secret {
  let answer: ExecAnswer & { apiVersion?: string };
  try {
    answer = JSON.parse(output) as typeof answer;
  } catch {
    throw unauthorized(`the credential program ${command} did not print an ExecCredential`);
  }
  if (answer.apiVersion !== apiVersion) {
    throw unauthorized(`the credential program ${command} must answer in ${apiVersion}, got ${answer.apiVersion}`);
  }
  const { token, clientCertificateData: cert, clientKeyData: key, expirationTimestamp } = answer.status ?? {};
  if (!token && !(cert && key)) {
    throw unauthorized(`the credential program ${command} gave neither a token nor a certificate with its key`);
  }
  return {
    ...(token ? { token } : {}),
    ...(cert && key ? { certificate: { cert, key } } : {}),
    expiresAt: expirationTimestamp ? Date.parse(expirationTimestamp) : undefined,
  };
}
