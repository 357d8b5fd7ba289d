import type { Secret } from "#api/core/secret.ts";
import type { RegistryAuth } from "../runtime/runtime.ts";

/** A registry, or a part of one, and how to log in there. */
interface Entry {
  readonly host: string;
  /** `/team/app`, or empty. */
  readonly path: string;
  readonly auth: RegistryAuth;
}

/**
 * The logins that fit an image, the closest first, from secrets of Docker's two forms. A secret that cannot be read
 * gives none: another may fit.
 */
export function credentialsFor(image: string, secrets: readonly Secret[]): RegistryAuth[] {
  const entries = secrets.flatMap(readSecret);
  const { host, path } = placeOf(image);
  const fitting = entries.filter((entry) => hostFits(entry.host, host) && pathFits(entry.path, path));
  return fitting.toSorted((a, b) => b.path.length - a.path.length).map(({ auth }) => auth);
}

const dockerHub = "index.docker.io";

/** Images without a registry are Docker Hub's, which has several names. */
function placeOf(image: string): { host: string; path: string } {
  const [first = "", ...rest] = image.split("/");
  const isHost = rest.length > 0 && (/[.:]/.test(first) || first === "localhost");
  if (!isHost) return { host: dockerHub, path: `/${image}` };
  return { host: first === "docker.io" ? dockerHub : first, path: `/${rest.join("/")}` };
}

/** `*` stands for any text within one part of the name. */
function hostFits(pattern: string, host: string): boolean {
  const [names, port] = splitPort(pattern);
  const [hostNames, hostPort] = splitPort(host);
  const [patternParts, hostParts] = [names.split("."), hostNames.split(".")];
  if (port !== hostPort || patternParts.length !== hostParts.length) return false;
  return patternParts.every((part, at) => globFits(part, hostParts[at] ?? ""));
}
const splitPort = (host: string): [string, string] => {
  const [, name = host, port = ""] = /^(.*?)(?::(\d+))?$/.exec(host) ?? [];
  return [name, port];
};
const globFits = (pattern: string, text: string): boolean =>
  new RegExp(`^${pattern.split("*").map(RegExp.escape).join(".*")}$`).test(text);

const pathFits = (prefix: string, path: string): boolean => path.startsWith(prefix);

function readSecret({ type, data = {} }: Secret): Entry[] {
  if (type === "kubernetes.io/dockerconfigjson")
    return readEntries(fieldOf(readJson(data[".dockerconfigjson"]), "auths"));
  if (type === "kubernetes.io/dockercfg") return readEntries(readJson(data[".dockercfg"]));
  return [];
}

function readJson(base64: string | undefined): unknown {
  try {
    return JSON.parse(Buffer.from(base64 ?? "", "base64").toString());
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const fieldOf = (value: unknown, name: string): unknown => (isObject(value) ? value[name] : undefined);
const textOf = (value: unknown, name: string): string => {
  const text = fieldOf(value, name);
  return typeof text === "string" ? text : "";
};

function readEntries(auths: unknown): Entry[] {
  if (!isObject(auths)) return [];
  return Object.entries(auths).map(([server, login]) => {
    const bare = server.replace(/^https?:\/\//, "").replace(/^([^/]+)\/v[12]\//, "$1/");
    const [host = "", ...path] = bare.replace(/\/+$/, "").split("/");
    const place = { host: host === "docker.io" ? dockerHub : host, path: path.length > 0 ? `/${path.join("/")}` : "" };
    return { ...place, auth: readLogin(login) };
  });
}

function readLogin(login: unknown): RegistryAuth {
  const [, user = "", password = ""] =
    /^([^:]*):(.*)$/s.exec(Buffer.from(textOf(login, "auth"), "base64").toString()) ?? [];
  return {
    username: textOf(login, "username") || user,
    // Some write zeros after the password.
    password: textOf(login, "password") || password.replace(/\0+$/, ""),
    identityToken: textOf(login, "identitytoken"),
    registryToken: textOf(login, "registrytoken"),
  };
}
