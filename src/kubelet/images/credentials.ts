import type { Secret } from "#api/core/secret.ts";
import type { RegistryAuth } from "#kubelet/runtime/runtime.ts";
import { trimEndOf } from "#lib/text/trim-end.ts";

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
  const { host, path } = placeOf(image);
  if (host.length > maxHost) return [];
  const entries = withinLimit(secrets).flatMap(readSecret);
  const fitting = entries.filter((entry) => hostFits(entry.host, host) && pathFits(entry.path, path));
  const closest = fitting.toSorted((a, b) => b.path.length - a.path.length);
  return closest.slice(0, maxLogins).map(({ auth }) => auth);
}

const dockerHub = "index.docker.io";
const maxHost = 255;
/** Characters of all secrets that are read for one image, logins in one of them, and characters of a server. */
const maxSecretText = 1.5 * (1 << 20);
const maxEntries = 1000;
const maxServer = 1024;
/** Each is tried against the registry. */
const maxLogins = 20;

/** Each once, for as long as they are not too large together. */
function withinLimit(secrets: readonly Secret[]): Secret[] {
  let left = maxSecretText;
  return [...new Set(secrets)].filter((secret) => {
    left -= textIn(secret)?.length ?? 0;
    return left >= 0;
  });
}

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
  const colon = host.lastIndexOf(":");
  const port = host.slice(colon + 1);
  return colon >= 0 && /^\d+$/.test(port) ? [host.slice(0, colon), port] : [host, ""];
};

/** Looks for the pieces between the stars one after the other, each as early as it can be: no step is taken back. */
function globFits(pattern: string, text: string): boolean {
  const [first = "", ...rest] = pattern.split("*");
  const last = rest.pop();
  if (last === undefined) return pattern === text;
  if (!text.startsWith(first) || !text.endsWith(last)) return false;
  let at = first.length;
  for (const piece of rest) {
    const found = text.indexOf(piece, at);
    if (found < 0) return false;
    at = found + piece.length;
  }
  return at <= text.length - last.length;
}

const pathFits = (prefix: string, path: string): boolean => path.startsWith(prefix);

const keys: ReadonlyMap<string | undefined, string> = new Map([
  ["kubernetes.io/dockerconfigjson", ".dockerconfigjson"],
  ["kubernetes.io/dockercfg", ".dockercfg"],
]);
const textIn = ({ type, data = {} }: Secret): string | undefined => data[keys.get(type) ?? ""];

function readSecret(secret: Secret): Entry[] {
  const value = readJson(textIn(secret));
  return readEntries(secret.type === "kubernetes.io/dockerconfigjson" ? fieldOf(value, "auths") : value);
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
  const entries = Object.entries(auths).slice(0, maxEntries);
  const short = entries.filter(([server]) => server.length <= maxServer);
  return short.map(([server, login]) => {
    const bare = server.replace(/^https?:\/\//, "").replace(/^([^/]+)\/v[12]\//, "$1/");
    const [host = "", ...path] = trimEndOf(bare, "/").split("/");
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
    password: textOf(login, "password") || trimEndOf(password, "\0"),
    identityToken: textOf(login, "identitytoken"),
    registryToken: textOf(login, "registrytoken"),
  };
}
