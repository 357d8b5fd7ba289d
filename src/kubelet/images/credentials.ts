import type { Secret } from "#api/core/secret.ts";
import type { RegistryAuth } from "#kubelet/runtime/runtime.ts";
import { isObject } from "#lib/data/json-object.ts";
import { trimEndOf } from "#lib/text/trim-end.ts";

/** A registry, or part of one, and the login for it. */
interface Entry {
  readonly host: string;
  /** `/team/app`, or empty. */
  readonly path: string;
  readonly auth: RegistryAuth;
}

/**
 * The logins that match an image, the closest match first, from secrets in Docker's two formats. An unreadable secret is
 * skipped, because another may match.
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
/** Limits: characters of all secrets for one image, logins per secret, and characters of a server name. */
const maxSecretText = 1.5 * (1 << 20);
const maxEntries = 1000;
const maxServer = 1024;
/** Limited, because each login is tried against the registry. */
const maxLogins = 20;

/** Each secret once, while all together stay within the limit. */
function withinLimit(secrets: readonly Secret[]): Secret[] {
  let left = maxSecretText;
  return [...new Set(secrets)].filter((secret) => {
    left -= textIn(secret)?.length ?? 0;
    return left >= 0;
  });
}

/** An image without a registry belongs to Docker Hub, which has several names. */
function placeOf(image: string): { host: string; path: string } {
  const [first = "", ...rest] = image.split("/");
  const isHost = rest.length > 0 && (/[.:]/.test(first) || first === "localhost");
  if (!isHost) return { host: dockerHub, path: `/${image}` };
  return { host: first === "docker.io" ? dockerHub : first, path: `/${rest.join("/")}` };
}

/** The name with its registry, as credential plugins see it: `docker.io/library/web` for `web`. */
export function canonicalImage(image: string): string {
  const { host, path } = placeOf(image);
  if (host !== dockerHub) return image;
  const bare = path.replace(/^\/(?:docker\.io\/)?/, "");
  return `docker.io/${bare.includes("/") ? "" : "library/"}${bare}`;
}
export const registryOf = (image: string): string => placeOf(image).host;

/** Whether a pattern such as `*.example.com/team` stands for the image. */
export function imageFits(pattern: string, image: string): boolean {
  const { host, path } = placeOf(image);
  if (host.length > maxHost || pattern.length > maxServer) return false;
  const entry = entryOf(pattern);
  return hostFits(entry.host, host) && pathFits(entry.path, path);
}

/** `*` matches any text within one part of the name. */
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

/** Matches the pieces between the stars greedily from the left, without backtracking. */
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

const fieldOf = (value: unknown, name: string): unknown => (isObject(value) ? value[name] : undefined);
const textOf = (value: unknown, name: string): string => {
  const text = fieldOf(value, name);
  return typeof text === "string" ? text : "";
};

function readEntries(auths: unknown): Entry[] {
  if (!isObject(auths)) return [];
  const entries = Object.entries(auths).slice(0, maxEntries);
  const short = entries.filter(([server]) => server.length <= maxServer);
  return short.map(([server, login]) => ({ ...entryOf(server), auth: readLogin(login) }));
}

function entryOf(server: string): Omit<Entry, "auth"> {
  const bare = server.replace(/^https?:\/\//, "").replace(/^([^/]+)\/v[12]\//, "$1/");
  const [host = "", ...path] = trimEndOf(bare, "/").split("/");
  return { host: host === "docker.io" ? dockerHub : host, path: path.length > 0 ? `/${path.join("/")}` : "" };
}

function readLogin(login: unknown): RegistryAuth {
  const [, user = "", password = ""] =
    /^([^:]*):(.*)$/s.exec(Buffer.from(textOf(login, "auth"), "base64").toString()) ?? [];
  return {
    username: textOf(login, "username") || user,
    // Some tools append zero bytes to the password.
    password: textOf(login, "password") || trimEndOf(password, "\0"),
    identityToken: textOf(login, "identitytoken"),
    registryToken: textOf(login, "registrytoken"),
  };
}
