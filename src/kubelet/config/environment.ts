import type { ConfigMap } from "#api/core/config-map.ts";
import type { EnvFromSource, EnvVar, EnvVarSource } from "#api/core/container/env.ts";
import type { AnyContainer } from "#api/core/pod/pod-containers.ts";
import type { Pod } from "#api/core/pod.ts";
import type { Secret } from "#api/core/secret.ts";
import type { Service } from "#api/core/service.ts";
import { hostInUrl } from "#lib/net/ip.ts";
import { containerResource, podField } from "./pod-fields.ts";

export interface EnvironmentInput {
  /** Its status has the addresses that are known by now. */
  readonly pod: Pod;
  readonly container: AnyContainer;
  readonly services: readonly Service[];
  readonly allocatable: Readonly<Record<string, string>>;
  /** Undefined if it does not exist. */
  configMap(name: string): ConfigMap | undefined;
  secret(name: string): Secret | undefined;
  /** One variable from a file in a volume. */
  fileVariable(volume: string, path: string, key: string): string | undefined;
}

export type Environment = ReadonlyMap<string, string>;

/** A container's variables: envFrom first, then env, and the services' where no other has the name. */
export function containerEnvironment(input: EnvironmentInput): Environment {
  const services = serviceVariables(input);
  const env = new Map<string, string>();
  const take = sizeLimit();
  const set = (name: string, value: string) => {
    take(name.length + value.length);
    env.set(name, value);
  };
  for (const source of input.container.envFrom ?? [])
    for (const [name, value] of setOf(input, source)) set(name, value);
  for (const variable of input.container.env ?? []) {
    const value = variableValue(input, variable, (name) => env.get(name) ?? services.get(name));
    if (value !== undefined) set(variable.name, value);
  }
  for (const [name, value] of services) if (!env.has(name)) env.set(name, value);
  return env;
}

/** An object that a variable refers to does not exist, so the container cannot be created yet. */
class MissingReference extends Error {
  override readonly name = "MissingReference";
}

function setOf(input: EnvironmentInput, { prefix = "", configMapRef, secretRef }: EnvFromSource): [string, string][] {
  const named = (entries: Iterable<[string, string]>) =>
    Array.from(entries, ([key, value]): [string, string] => [prefix + key, value]);
  if (configMapRef) {
    const { name = "", optional } = configMapRef;
    const data = input.configMap(name)?.data;
    if (!data && !input.configMap(name) && !optional) throw new MissingReference(`configmap "${name}" not found`);
    return named(Object.entries(data ?? {}));
  }
  if (!secretRef) return [];
  const { name = "", optional } = secretRef;
  const secret = input.secret(name);
  if (!secret && !optional) throw new MissingReference(`secret "${name}" not found`);
  return named(Object.entries(secret?.data ?? {}).map(([key, base64]) => [key, fromBase64(base64)]));
}

const fromBase64 = (text: string): string => Buffer.from(text, "base64").toString();

type Lookup = (name: string) => string | undefined;

/** Undefined if an optional source is missing. */
function variableValue(input: EnvironmentInput, { value = "", valueFrom }: EnvVar, lookup: Lookup): string | undefined {
  if (value !== "" || !valueFrom) return expand(value, lookup);
  return sourceValue(input, valueFrom);
}

function sourceValue(input: EnvironmentInput, source: EnvVarSource): string | undefined {
  const { pod, container, allocatable } = input;
  const { fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef, fileKeyRef } = source;
  if (fieldRef) return podField(pod, fieldRef.fieldPath);
  if (resourceFieldRef) return containerResource({ pod, container, allocatable }, resourceFieldRef);
  if (configMapKeyRef) {
    const found = input.configMap(configMapKeyRef.name ?? "");
    return keyOf(pod, "ConfigMap", configMapKeyRef, found && (found.data ?? {}));
  }
  if (secretKeyRef) {
    const found = input.secret(secretKeyRef.name ?? "");
    const base64 = keyOf(pod, "Secret", secretKeyRef, found && (found.data ?? {}));
    return base64 === undefined ? undefined : fromBase64(base64);
  }
  if (!fileKeyRef) return "";
  const { volumeName, path, key, optional } = fileKeyRef;
  const value = input.fileVariable(volumeName, path, key);
  if (value === undefined && !optional) {
    throw new MissingReference(`environment variable key "${key}" not found in file "${path}"`);
  }
  return value;
}

interface KeyRef {
  readonly name?: string;
  readonly key: string;
  readonly optional?: boolean;
}

function keyOf(
  { metadata }: Pod,
  kind: "ConfigMap" | "Secret",
  { name = "", key, optional }: KeyRef,
  data: Readonly<Record<string, string>> | undefined,
): string | undefined {
  const value = data?.[key];
  if (value !== undefined || optional) return value;
  if (!data) throw new MissingReference(`${kind.toLowerCase()} "${name}" not found`);
  throw new MissingReference(`couldn't find key ${key} in ${kind} ${metadata.namespace}/${name}`);
}

/** Replaces `$(NAME)`. `$$` becomes one dollar sign, and unknown references stay as they are. */
export function expand(text: string, lookup: Lookup, take = sizeLimit()): string {
  if (!text.includes("$")) return text;
  return text.replace(/\$(\$|\(([^()]*)\))/g, (whole, inner: string, name: string | undefined) => {
    if (inner === "$") return "$";
    const value = lookup(name ?? "") ?? whole;
    take(value.length);
    return value;
  });
}

/** The same for several texts, which share one limit. */
export function expandAll(texts: readonly string[], lookup: Lookup): string[] {
  const take = sizeLimit();
  return texts.map((text) => expand(text, lookup, take));
}

/** No program can be started with more. Variables that name others twice double in size with each step. */
const maxCharacters = 2 << 20;

function sizeLimit(): (characters: number) => void {
  let left = maxCharacters;
  return (characters) => {
    left -= characters;
    if (left < 0) throw new Error(`arguments or environment are longer than ${maxCharacters} characters`);
  };
}

/** The addresses of services: always the API server's, and the namespace's unless the pod disables them. */
function serviceVariables({ pod, services }: EnvironmentInput): Environment {
  const wantsAll = pod.spec.enableServiceLinks ?? true;
  const byName = new Map<string, Service>();
  for (const service of services) {
    const { name, namespace } = service.metadata;
    const { clusterIP = "" } = service.spec;
    if (clusterIP === "" || clusterIP === "None") continue;
    if (namespace === "default" && name === "kubernetes") {
      if (!byName.has(name)) byName.set(name, service);
    } else if (wantsAll && namespace === pod.metadata.namespace) byName.set(name, service);
  }
  return new Map([...byName.values()].flatMap(variablesOf));
}

const upperCase = (name: string): string => name.replaceAll("-", "_").toUpperCase();

function variablesOf({ metadata, spec }: Service): [string, string][] {
  const { clusterIP = "", ports = [] } = spec;
  const prefix = upperCase(metadata.name);
  const host = hostInUrl(clusterIP);
  const out: [string, string][] = [[`${prefix}_SERVICE_HOST`, clusterIP]];
  for (const [index, { name, port, protocol }] of ports.entries()) {
    const scheme = protocol.toLowerCase();
    const link = `${scheme}://${host}:${port}`;
    if (index === 0) out.push([`${prefix}_SERVICE_PORT`, String(port)], [`${prefix}_PORT`, link]);
    if (name) out.push([`${prefix}_SERVICE_PORT_${upperCase(name)}`, String(port)]);
    const one = `${prefix}_PORT_${port}_${protocol}`;
    out.push([one, link], [`${one}_PROTO`, scheme], [`${one}_PORT`, String(port)], [`${one}_ADDR`, clusterIP]);
  }
  return out;
}

/** The objects that the container's variables refer to, which must be read before it can be created. */
export function referencesOf({ env = [], envFrom = [] }: AnyContainer): {
  configMaps: Set<string>;
  secrets: Set<string>;
} {
  const configMaps = [
    ...envFrom.map(({ configMapRef }) => configMapRef),
    ...env.map(({ valueFrom }) => valueFrom?.configMapKeyRef),
  ];
  const secrets = [
    ...envFrom.map(({ secretRef }) => secretRef),
    ...env.map(({ valueFrom }) => valueFrom?.secretKeyRef),
  ];
  const names = (refs: readonly ({ name?: string } | undefined)[]) =>
    new Set(refs.flatMap((ref) => (ref ? [ref.name ?? ""] : [])));
  return { configMaps: names(configMaps), secrets: names(secrets) };
}
