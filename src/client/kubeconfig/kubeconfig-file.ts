import type { ExecConfig, Impersonation } from "../client-config.ts";

/** A kubeconfig cannot be read or lacks something; the message names the file and the field. */
export class KubeconfigError extends Error {
  override readonly name = "KubeconfigError";
}

/** One file, or several merged. */
export interface Kubeconfig {
  readonly paths: readonly string[];
  readonly currentContext: string;
  readonly clusters: Map<string, KubeconfigCluster>;
  readonly users: Map<string, KubeconfigUser>;
  readonly contexts: Map<string, KubeconfigContext>;
}

/** The file of an entry, and the place in it. */
interface Origin {
  readonly path: string;
  readonly at: string;
}
export interface KubeconfigCluster {
  readonly origin: Origin;
  readonly server: string;
  readonly certificateAuthority: string | undefined;
  /** Base64 of PEM. */
  readonly certificateAuthorityData: string | undefined;
  readonly tlsServerName: string | undefined;
  readonly insecureSkipTlsVerify: boolean;
  readonly proxyUrl: string | undefined;
  readonly disableCompression: boolean | undefined;
}
export interface KubeconfigUser {
  readonly origin: Origin;
  readonly clientCertificate: string | undefined;
  readonly clientCertificateData: string | undefined;
  readonly clientKey: string | undefined;
  readonly clientKeyData: string | undefined;
  readonly token: string | undefined;
  readonly tokenFile: string | undefined;
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly exec: ExecConfig | undefined;
  readonly impersonate: Impersonation | undefined;
}
export interface KubeconfigContext {
  readonly cluster: string;
  readonly user: string;
  readonly namespace: string | undefined;
}

/** Parses the text of one file. The YAML parser is loaded only for text that is not JSON. */
export async function parseKubeconfig(text: string, path: string): Promise<Kubeconfig> {
  const root = new Section(await parseText(text, path), path, "");
  const kind = root.string("kind");
  if (kind && kind !== "Config") root.fail("kind", `must be Config, got ${JSON.stringify(kind)}`);
  const version = root.string("apiVersion");
  if (version && version !== "v1") root.fail("apiVersion", `must be v1, got ${JSON.stringify(version)}`);
  return {
    paths: [path],
    currentContext: root.string("current-context") ?? "",
    clusters: named(root, "clusters", "cluster", readCluster),
    users: named(root, "users", "user", readUser),
    contexts: named(root, "contexts", "context", readContext),
  };
}

async function parseText(text: string, path: string): Promise<unknown> {
  try {
    if (text.trimStart().startsWith("{")) return JSON.parse(text) as unknown;
    const { parse } = await import("yaml");
    return parse(text) as unknown;
  } catch (cause) {
    const why = cause instanceof Error ? cause.message.split("\n")[0] : String(cause);
    throw new KubeconfigError(`${path}: is neither YAML nor JSON: ${why}`, { cause });
  }
}

/** A list of `{ name, <key>: … }` as a map; the first entry of a name wins. */
function named<T>(root: Section, list: string, key: string, read: (section: Section) => T): Map<string, T> {
  const entries = new Map<string, T>();
  for (const item of root.sections(list)) {
    const name = item.string("name");
    if (!name) item.fail("name", "is required");
    else if (!entries.has(name)) entries.set(name, read(item.section(key)));
  }
  return entries;
}

function readCluster(at: Section): KubeconfigCluster {
  const server = at.string("server") ?? "";
  if (!URL.canParse(server) || !/^https?:/.test(server)) {
    at.fail("server", `must be a URL such as https://127.0.0.1:6443, got ${JSON.stringify(server)}`);
  }
  return {
    origin: at,
    server,
    certificateAuthority: at.string("certificate-authority"),
    certificateAuthorityData: at.base64("certificate-authority-data"),
    tlsServerName: at.string("tls-server-name"),
    insecureSkipTlsVerify: at.boolean("insecure-skip-tls-verify") ?? false,
    proxyUrl: at.string("proxy-url"),
    disableCompression: at.boolean("disable-compression"),
  };
}

function readUser(at: Section): KubeconfigUser {
  return {
    origin: at,
    clientCertificate: at.string("client-certificate"),
    clientCertificateData: at.base64("client-certificate-data"),
    clientKey: at.string("client-key"),
    clientKeyData: at.base64("client-key-data"),
    token: at.string("token"),
    tokenFile: at.string("tokenFile"),
    username: at.string("username"),
    password: at.string("password"),
    exec: at.has("exec") ? readExec(at.section("exec")) : undefined,
    impersonate: readImpersonation(at),
  };
}

const execVersions = ["client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"];
const interactiveModes = ["Never", "IfAvailable", "Always"] as const;

function readExec(at: Section): ExecConfig {
  const apiVersion = at.string("apiVersion") ?? "";
  if (!execVersions.includes(apiVersion)) {
    at.fail("apiVersion", `must be one of ${execVersions.join(", ")}, got ${JSON.stringify(apiVersion)}`);
  }
  const command = at.string("command") ?? "";
  if (!command) at.fail("command", "is required");
  const mode = at.string("interactiveMode");
  const interactiveMode = interactiveModes.find((known) => known === mode);
  if (mode && !interactiveMode) at.fail("interactiveMode", `must be one of ${interactiveModes.join(", ")}`);
  const installHint = at.string("installHint");
  const env = at.sections("env").map((entry) => [entry.string("name") ?? "", entry.string("value") ?? ""]);
  return {
    apiVersion,
    command,
    args: at.strings("args"),
    env: Object.fromEntries(env) as Record<string, string>,
    provideClusterInfo: at.boolean("provideClusterInfo") ?? false,
    ...(installHint ? { installHint } : {}),
    ...(interactiveMode ? { interactiveMode } : {}),
  };
}

function readImpersonation(at: Section): Impersonation | undefined {
  const user = at.string("as");
  const uid = at.string("as-uid");
  const groups = at.strings("as-groups");
  if (!user && (uid || groups.length > 0)) at.fail("as", "is required when as-uid or as-groups is set");
  if (!user) return undefined;
  const extra = at.section("as-user-extra");
  const values = extra.keys().map((key) => [key, extra.strings(key)] as const);
  return { user, groups, extra: Object.fromEntries(values), ...(uid ? { uid } : {}) };
}

const readContext = (at: Section): KubeconfigContext => ({
  cluster: at.string("cluster") ?? "",
  user: at.string("user") ?? "",
  namespace: at.string("namespace"),
});

/** One mapping of the file, which knows its place, so that errors can name it. */
class Section implements Origin {
  readonly path: string;
  readonly #where: string;
  readonly #values: Readonly<Record<string, unknown>>;

  constructor(value: unknown, path: string, where: string) {
    this.path = path;
    this.#where = where;
    const empty = value === undefined || value === null;
    if (!empty && (typeof value !== "object" || Array.isArray(value))) {
      throw new KubeconfigError(`${path}: ${where || "the file"} must be a mapping, got ${show(value)}`);
    }
    this.#values = empty ? {} : (value as Record<string, unknown>);
  }
  get at(): string {
    return `${this.path}: ${this.#where}`;
  }
  has(key: string): boolean {
    return this.#values[key] !== undefined && this.#values[key] !== null;
  }
  keys(): string[] {
    return Object.keys(this.#values);
  }
  fail(key: string, why: string): never {
    throw new KubeconfigError(`${this.path}: ${this.#child(key)} ${why}`);
  }
  string(key: string): string | undefined {
    const value = this.#values[key] ?? undefined;
    if (value !== undefined && typeof value !== "string") this.fail(key, `must be a string, got ${show(value)}`);
    return value;
  }
  boolean(key: string): boolean | undefined {
    const value = this.#values[key] ?? undefined;
    if (value !== undefined && typeof value !== "boolean") this.fail(key, `must be true or false, got ${show(value)}`);
    return value;
  }
  base64(key: string): string | undefined {
    const value = this.string(key)?.replaceAll(/\s/g, "");
    if (value && !/^[A-Za-z0-9+/]+={0,2}$/.test(value)) this.fail(key, "must be base64");
    return value || undefined;
  }
  strings(key: string): string[] {
    return this.#list(key).map((item, at) => {
      if (typeof item !== "string") this.fail(`${key}[${at}]`, `must be a string, got ${show(item)}`);
      return item;
    });
  }
  section(key: string): Section {
    return new Section(this.#values[key], this.path, this.#child(key));
  }
  sections(key: string): Section[] {
    return this.#list(key).map((item, at) => new Section(item, this.path, this.#child(`${key}[${at}]`)));
  }
  #list(key: string): unknown[] {
    const value = this.#values[key] ?? [];
    if (!Array.isArray(value)) this.fail(key, `must be a list, got ${show(value)}`);
    return value;
  }
  #child(key: string): string {
    return this.#where ? `${this.#where}.${key}` : key;
  }
}

/** The type of a wrong value; never a long or secret value itself. */
function show(value: unknown): string {
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object") return "a mapping";
  return typeof value === "string" ? "a string" : String(value);
}
