import { type FieldPath, invalidValue, notFoundValue, requiredValue, unsupportedValue } from "#schema/field-error.ts";
import { configMapKey, dns1123Label, dns1123Subdomain, envVarName, qualifiedName } from "../meta/names.ts";
import { isZeroQuantity } from "../meta/quantity.ts";
import {
  type EnvFromSource,
  type EnvVar,
  type EnvVarSource,
  type FileKeySelector,
  type ObjectFieldSelector,
  type ResourceFieldSelector,
} from "./env.ts";
import { type Faults, judge, judgeAt, judgeIfSet } from "./faults.ts";
import { validateNoBacksteps } from "./validate-path.ts";
import { type Volume } from "./volume.ts";

export function validateEnv(variables: readonly EnvVar[], path: FieldPath, faults: Faults): void {
  for (const [index, { name, value, valueFrom }] of variables.entries()) {
    if (name) judge(envVarName, name, path.index(index), "name", faults);
    if (valueFrom) validateEnvSource(valueFrom, value, path.index(index).child("valueFrom"), faults);
  }
}

function validateEnvSource(source: EnvVarSource, value: string | undefined, path: FieldPath, faults: Faults): void {
  const { fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef, fileKeyRef } = source;
  if (fieldRef) validateFieldRef(fieldRef, envFields, path.child("fieldRef"), faults);
  if (resourceFieldRef) validateResourceRef(resourceFieldRef, "env", path.child("resourceFieldRef"), faults);
  if (configMapKeyRef) validateKeyRef(configMapKeyRef, path.child("configMapKeyRef"), faults);
  if (secretKeyRef) validateKeyRef(secretKeyRef, path.child("secretKeyRef"), faults);
  if (fileKeyRef) validateFileRef(fileKeyRef, path.child("fileKeyRef"), faults);

  const count = [fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef, fileKeyRef].filter(Boolean).length;
  const fault = sourceFault(count, value);
  if (fault) faults.push(invalidValue(path, "", fault));
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
/** What a field reference can name at all; the place it is used in decides what it may name there. */
const knownFields = new Set([
  ...envFields,
  ...volumeFields,
  "spec.host",
  "spec.restartPolicy",
  "spec.schedulerName",
  "status.phase",
]);

export function validateFieldRef(
  { apiVersion, fieldPath }: ObjectFieldSelector,
  allowed: readonly string[],
  path: FieldPath,
  faults: Faults,
): void {
  if (!fieldPath) {
    faults.push(requiredValue(path.child("fieldPath")));
    return;
  }
  const subscript = /^(.+?)\['(.*)'\]$/s.exec(fieldPath);
  const fault = fieldFault(apiVersion, fieldPath, subscript?.[1]);
  if (fault) {
    faults.push(invalidValue(path.child("fieldPath"), fieldPath, `error converting fieldPath: ${fault}`));
  } else if (subscript) {
    const [, field, key = ""] = subscript;
    judgeAt(qualifiedName, field === "metadata.annotations" ? key.toLowerCase() : key, path, faults);
  } else {
    const field = fieldPath === "spec.host" ? "spec.nodeName" : fieldPath;
    if (!allowed.includes(field)) faults.push(unsupportedValue(path.child("fieldPath"), field, allowed));
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

export function validateResourceRef(
  { containerName, resource, divisor }: ResourceFieldSelector,
  place: "env" | "volume",
  path: FieldPath,
  faults: Faults,
): void {
  if (place === "volume" && !containerName) faults.push(requiredValue(path.child("containerName")));
  else if (!resource) faults.push(requiredValue(path.child("resource")));
  else if (!containerResources.includes(resource) && !hugePages.test(resource)) {
    faults.push(unsupportedValue(path.child("resource"), resource, containerResources));
  }
  const fault = isZeroQuantity(divisor) ? undefined : divisorFault(resource, divisor);
  if (fault) faults.push(invalidValue(path.child("divisor"), resource, fault));
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

function validateKeyRef({ name, key }: { name?: string; key: string }, path: FieldPath, faults: Faults): void {
  judge(dns1123Subdomain, name ?? "", path, "name", faults);
  judgeIfSet(configMapKey, key, path, "key", faults);
}

function validateFileRef({ volumeName, path: file, key }: FileKeySelector, path: FieldPath, faults: Faults): void {
  judgeIfSet(envVarName, key, path, "key", faults);
  judgeIfSet(dns1123Label, volumeName, path, "volumeName", faults);
  validateNoBacksteps(file, path.child("path"), faults);
}

/** Env files come from emptyDir volumes of the same pod. */
export function validateFileRefVolumes(
  variables: readonly EnvVar[],
  volumes: readonly Volume[],
  path: FieldPath,
  faults: Faults,
): void {
  for (const [index, { valueFrom }] of variables.entries()) {
    const name = valueFrom?.fileKeyRef?.volumeName;
    if (name === undefined) continue;
    const at = path.index(index).child("valueFrom", "fileKeyRef", "volumeName");
    const volume = volumes.find((candidate) => candidate.name === name);
    if (!volume) faults.push(notFoundValue(at, name));
    else if (!volume.emptyDir) faults.push(invalidValue(at, name, "referenced volume must be of type emptyDir"));
  }
}

export function validateEnvFrom(sources: readonly EnvFromSource[], path: FieldPath, faults: Faults): void {
  for (const [index, { prefix, configMapRef, secretRef }] of sources.entries()) {
    const at = path.index(index);
    judgeIfSet(envVarName, prefix, at, "prefix", faults);
    if (configMapRef) validateSourceName(configMapRef.name, at.child("configMapRef"), faults);
    if (secretRef) validateSourceName(secretRef.name, at.child("secretRef"), faults);
    if (!configMapRef && !secretRef) {
      faults.push(invalidValue(path, "", "must specify one of: `configMapRef` or `secretRef`"));
    } else if (configMapRef && secretRef) {
      faults.push(invalidValue(path, "", "may not have more than one field specified at a time"));
    }
  }
}

function validateSourceName(name: string | undefined, path: FieldPath, faults: Faults): void {
  if (!name) faults.push(requiredValue(path.child("name")));
  else judge(dns1123Subdomain, name, path, "name", faults);
}
