import {
  type EnvFromSource,
  type EnvVar,
  type EnvVarSource,
  type ObjectFieldSelector,
  type ResourceFieldSelector,
} from "#api/core/container/env.ts";
import { type Volume } from "#api/core/volume/volume.ts";
import { type Cursor } from "#api/cursor.ts";
import { configMapKey, dns1123Subdomain, qualifiedName } from "#api/meta/names.ts";
import { isZeroQuantity } from "#api/meta/quantity.ts";
import { validateNoBacksteps } from "./volumes/validate-path.ts";

export function validateEnv(at: Cursor<EnvVar>): void {
  at.on("valueFrom", (from) => validateEnvSource(from, at.value.value));
}

function validateEnvSource(at: Cursor<EnvVarSource>, value: string | undefined): void {
  at.on("fieldRef", (at) => validateFieldRef(at, envFields));
  at.on("resourceFieldRef", (at) => validateResourceRef(at, "env"));
  for (const name of ["configMapKeyRef", "secretKeyRef"] as const) {
    at.on(name, (at) => {
      at.field("name").rule(dns1123Subdomain, at.value.name ?? "");
      at.set("key")?.rule(configMapKey);
    });
  }
  at.on("fileKeyRef", (at) => validateNoBacksteps(at.field("path")));
  const { fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef, fileKeyRef } = at.value;
  const count = [fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef, fileKeyRef].filter(Boolean).length;
  at.invalid(sourceFault(count, value), "");
}

function sourceFault(count: number, value: string | undefined): string | undefined {
  if (count === 0) {
    return "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`";
  }
  if (value) return "may not be specified when `value` is not empty";
  return count > 1 ? "may not have more than one field specified at a time" : undefined;
}

const envFields = [
  "metadata.name",
  "metadata.namespace",
  "metadata.uid",
  "spec.nodeName",
  "spec.serviceAccountName",
  "status.hostIP",
  "status.hostIPs",
  "status.podIP",
  "status.podIPs",
];
export const volumeFields = [
  "metadata.annotations",
  "metadata.labels",
  "metadata.name",
  "metadata.namespace",
  "metadata.uid",
];
/** Fields that a reference can name at all. Each place allows only some of them. */
const knownFields = new Set([
  ...envFields,
  ...volumeFields,
  "spec.host",
  "spec.restartPolicy",
  "spec.schedulerName",
  "status.phase",
]);

export function validateFieldRef(at: Cursor<ObjectFieldSelector>, allowed: readonly string[]): void {
  const { apiVersion, fieldPath } = at.value;
  if (!at.field("fieldPath").required()) return;
  const subscript = /^(.+?)\['(.*)'\]$/s.exec(fieldPath);
  const fault = fieldFault(apiVersion, fieldPath, subscript?.[1]);
  if (fault) at.field("fieldPath").invalid(`error converting fieldPath: ${fault}`);
  else if (subscript) {
    const [, field, key = ""] = subscript;
    at.rule(qualifiedName, field === "metadata.annotations" ? key.toLowerCase() : key);
  } else {
    const field = fieldPath === "spec.host" ? "spec.nodeName" : fieldPath;
    at.field("fieldPath").as(field).oneOf(allowed);
  }
}

function fieldFault(apiVersion: string, fieldPath: string, subscripted: string | undefined): string | undefined {
  if (apiVersion !== "v1") return `unsupported pod version: ${apiVersion}`;
  if (subscripted === undefined)
    return knownFields.has(fieldPath) ? undefined : `field label not supported: ${fieldPath}`;
  const hasKeys = subscripted === "metadata.annotations" || subscripted === "metadata.labels";
  return hasKeys ? undefined : `field label does not support subscript: ${fieldPath}`;
}

const containerResources = [
  "limits.cpu",
  "limits.ephemeral-storage",
  "limits.memory",
  "requests.cpu",
  "requests.ephemeral-storage",
  "requests.memory",
];
const hugePages = /^(requests|limits)\.hugepages-/;

export function validateResourceRef(at: Cursor<ResourceFieldSelector>, place: "env" | "volume"): void {
  const { containerName, resource, divisor } = at.value;
  if (place === "volume" && !containerName) at.field("containerName").missing();
  else if (at.field("resource").required() && !hugePages.test(resource)) at.field("resource").oneOf(containerResources);
  if (!isZeroQuantity(divisor)) at.field("divisor").invalid(divisorFault(resource, divisor), resource);
}

const byteDivisors = ["1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"];
const byteResources = new Map([
  ["memory", "memory"],
  ["ephemeral-storage", "local ephemeral storage"],
]);

function divisorFault(resource: string, divisor: string): string | undefined {
  const kind = resource.replace(/^(requests|limits)\./, "");
  if (kind === "cpu") {
    const fits = divisor === "1m" || divisor === "1";
    return fits ? undefined : "only divisor's values 1m and 1 are supported with the cpu resource";
  }
  const name = hugePages.test(resource) ? "hugepages" : byteResources.get(kind);
  if (!name || byteDivisors.includes(divisor)) return undefined;
  return `only divisor's values ${byteDivisors.join(", ")} are supported with the ${name} resource`;
}

/** Env files come from emptyDir volumes of the same pod. */
export function validateFileRefVolumes(at: Cursor<EnvVar>, volumes: ReadonlyMap<string, Volume>): void {
  at.on("valueFrom", (at) =>
    at.on("fileKeyRef", (at) => {
      const volume = volumes.get(at.value.volumeName);
      if (!volume) at.field("volumeName").notFound();
      else if (!volume.emptyDir) at.field("volumeName").invalid("referenced volume must be of type emptyDir");
    }),
  );
}

export function validateEnvFrom(container: Cursor<{ envFrom?: EnvFromSource[] }>): void {
  container.each("envFrom", (at) => {
    at.on("configMapRef", validateSourceName);
    at.on("secretRef", validateSourceName);
    const { configMapRef, secretRef } = at.value;
    const list = container.field("envFrom");
    if (!configMapRef && !secretRef) list.invalid("must specify one of: `configMapRef` or `secretRef`", "");
    else if (configMapRef && secretRef) list.invalid("may not have more than one field specified at a time", "");
  });
}

function validateSourceName(at: Cursor<{ name?: string }>): void {
  if (at.field("name").required()) at.field("name").rule(dns1123Subdomain);
}
