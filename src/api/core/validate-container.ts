import {
  duplicateValue,
  type FieldError,
  type FieldPath,
  forbiddenValue,
  invalidValue,
  notFoundValue,
  requiredValue,
  tooMany,
  unsupportedValue,
} from "#schema/field-error.ts";
import { dns1123Label, portName, portNumber } from "../meta/names.ts";
import {
  type Container,
  type ContainerPort,
  type ContainerResizePolicy,
  type ContainerRestartRule,
  type EphemeralContainer,
} from "./container.ts";
import { type Faults, judge } from "./faults.ts";
import { isSidecar } from "./pod-resources.ts";
import { type PodSpec } from "./pod-spec.ts";
import { validateEnv, validateEnvFrom } from "./validate-env.ts";
import { validateMountsAndDevices } from "./validate-mounts.ts";
import { validateLifecycle, validateProbes } from "./validate-probe.ts";
import { validateRequirements } from "./validate-resources.ts";
import { validateSecurityContext } from "./validate-security-context.ts";
import { type Volume } from "./volume.ts";

/** What the rules about a container need to know of its pod. */
export interface ContainerContext {
  /** False in a template. */
  readonly isPod: boolean;
  readonly spec: PodSpec;
  /** Those without fault. */
  readonly volumes: ReadonlyMap<string, Volume>;
  readonly claimNames: ReadonlySet<string>;
}

export function validateContainers(context: ContainerContext, path: FieldPath, faults: Faults): void {
  const { containers, terminationGracePeriodSeconds: gracePeriod, os } = context.spec;
  const names = new Set<string>();
  for (const [index, container] of containers.entries()) {
    const at = path.index(index);
    validateContainer(container, context, at, faults);
    if (names.has(container.name)) faults.push(duplicateValue(at.child("name"), container.name));
    names.add(container.name);
    if (container.lifecycle) {
      validateLifecycle(container.lifecycle, { gracePeriod, os: os?.name }, at.child("lifecycle"), faults);
    }
    validateProbes(container, gracePeriod, at, faults);
    validateRestartRules(container, at, faults);
  }
  validateHostPorts(containers, path, faults);
}

export function validateInitContainers(context: ContainerContext, path: FieldPath, faults: Faults): void {
  const { containers, initContainers = [], terminationGracePeriodSeconds: gracePeriod, os } = context.spec;
  const names = new Set(containers.map(({ name }) => name));
  for (const [index, container] of initContainers.entries()) {
    const at = path.index(index);
    validateContainer(container, context, at, faults);
    validateInitRestartRules(container, at, faults);
    if (names.has(container.name)) faults.push(duplicateValue(at.child("name"), container.name));
    if (container.name) names.add(container.name);
    validateHostPorts([container], path, faults);
    if (isSidecar(container)) {
      if (container.lifecycle) {
        validateLifecycle(container.lifecycle, { gracePeriod, os: os?.name }, at.child("lifecycle"), faults);
      }
      validateProbes(container, gracePeriod, at, faults);
    } else {
      refuseForPlainInit(container, at, faults);
    }
  }
}

function refuseForPlainInit(container: Container, path: FieldPath, faults: Faults): void {
  for (const name of ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"] as const) {
    if (container[name] === undefined) continue;
    faults.push(forbiddenValue(path.child(name), "may not be set for init containers without restartPolicy=Always"));
  }
  for (const [index, { restartPolicy }] of (container.resizePolicy ?? []).entries()) {
    if (restartPolicy !== "RestartContainer") continue;
    const detail = "must not be set to 'RestartContainer' for non-sidecar initContainers";
    faults.push(invalidValue(path.child("resizePolicy").index(index).child("restartPolicy"), restartPolicy, detail));
  }
}

const notForEphemeral = [
  "ports",
  "resizePolicy",
  "restartPolicy",
  "restartPolicyRules",
  "livenessProbe",
  "readinessProbe",
  "startupProbe",
  "lifecycle",
] as const;

export function validateEphemeralContainers(context: ContainerContext, path: FieldPath, faults: Faults): void {
  const { containers, initContainers = [], ephemeralContainers = [] } = context.spec;
  const targets = new Set([...containers, ...initContainers].map(({ name }) => name));
  const names = new Set(targets);
  for (const [index, container] of ephemeralContainers.entries()) {
    const at = path.index(index);
    const { name, targetContainerName: target } = container;
    validateContainer(container, context, at, faults);
    validateImage(container.image, at, faults);
    if (names.has(name)) faults.push(duplicateValue(at.child("name"), name));
    names.add(name);
    if (target && !targets.has(target)) faults.push(notFoundValue(at.child("targetContainerName"), target));
    refuseForEphemeral(container, at, faults);
  }
}

function refuseForEphemeral(container: EphemeralContainer, path: FieldPath, faults: Faults): void {
  const detail = "cannot be set for an Ephemeral Container";
  for (const name of notForEphemeral) {
    if (container[name] !== undefined) faults.push(forbiddenValue(path.child(name), detail));
  }
  if (Object.keys(container.resources).length > 0) faults.push(forbiddenValue(path.child("resources"), detail));
  for (const [index, mount] of (container.volumeMounts ?? []).entries()) {
    const at = path.child("volumeMounts").index(index);
    if (mount.subPath) faults.push(forbiddenValue(at.child("subPath"), detail));
    if (mount.subPathExpr) faults.push(forbiddenValue(at.child("subPathExpr"), detail));
  }
}

/** The rules for containers of every sort. */
function validateContainer(
  container: Container | EphemeralContainer,
  context: ContainerContext,
  path: FieldPath,
  faults: Faults,
): void {
  const { name, image, ports, env, envFrom, resources, resizePolicy, securityContext } = container;
  const { spec, volumes, claimNames } = context;
  if (name) judge(dns1123Label, name, path, "name", faults);
  if (!image) faults.push(requiredValue(path.child("image")));
  if (ports) validatePorts(ports, path.child("ports"), faults);
  if (env) validateEnv(env, path.child("env"), faults);
  if (envFrom) validateEnvFrom(envFrom, path.child("envFrom"), faults);
  validateMountsAndDevices(container, volumes, path, faults);
  validateRequirements(resources, { owner: "container", claimNames }, path.child("resources"), faults);
  if (resizePolicy) validateResizePolicy(resizePolicy, spec.restartPolicy, path.child("resizePolicy"), faults);
  if (securityContext) {
    validateSecurityContext(securityContext, spec.hostUsers !== false, path.child("securityContext"), faults);
  }
}

/** Only of pods: templates may still hold a placeholder. */
export function validateImage(image: string | undefined, path: FieldPath, faults: Faults): void {
  if (image === undefined || image.trim() === image) return;
  faults.push(invalidValue(path.child("image"), image, "must not have leading or trailing whitespace"));
}

function validatePorts(ports: readonly ContainerPort[], path: FieldPath, faults: Faults): void {
  const names = new Set<string>();
  for (const [index, { name, containerPort, hostPort = 0 }] of ports.entries()) {
    if (name) {
      const before = faults.length;
      judge(portName, name, path.index(index), "name", faults);
      if (names.has(name)) faults.push(duplicateValue(path.index(index).child("name"), name));
      else if (faults.length === before) names.add(name);
    }
    const fault = portNumber(containerPort);
    if (containerPort === 0) faults.push(requiredValue(path.index(index).child("containerPort")));
    else if (fault) faults.push(invalidValue(path.index(index).child("containerPort"), containerPort, fault));
    const hostFault = hostPort === 0 ? undefined : portNumber(hostPort);
    if (hostFault) faults.push(invalidValue(path.index(index).child("hostPort"), hostPort, hostFault));
  }
}

/** A port of the node can be had once. */
function validateHostPorts(containers: readonly Container[], path: FieldPath, faults: Faults): void {
  const taken = new Set<string>();
  for (const [index, { ports = [] }] of containers.entries()) {
    for (const [position, { hostPort, protocol, hostIP = "" }] of ports.entries()) {
      if (!hostPort) continue;
      const key = `${protocol}/${hostIP}/${hostPort}`;
      if (taken.has(key)) {
        faults.push(duplicateValue(path.index(index).child("ports").index(position).child("hostPort"), key));
      }
      taken.add(key);
    }
  }
}

const resizableResources = ["cpu", "memory"];
const resizePolicies = ["NotRequired", "RestartContainer"];

function validateResizePolicy(
  policies: readonly ContainerResizePolicy[],
  podPolicy: string,
  path: FieldPath,
  faults: Faults,
): void {
  const seen = new Set<string>();
  for (const [index, { resourceName, restartPolicy }] of policies.entries()) {
    if (seen.has(resourceName)) faults.push(duplicateValue(path.index(index), resourceName));
    seen.add(resourceName);
    validateChoice(resourceName, resizableResources, path, faults);
    validateChoice(restartPolicy, resizePolicies, path, faults);
    if (podPolicy === "Never" && restartPolicy !== "NotRequired") {
      const detail = "must be 'NotRequired' when pod `restartPolicy` is 'Never'";
      faults.push(invalidValue(path, restartPolicy, detail));
    }
  }
}

function validateChoice(value: string, supported: readonly string[], path: FieldPath, faults: Faults): void {
  if (!value) faults.push(requiredValue(path));
  else if (!supported.includes(value)) faults.push(unsupportedValue(path, value, supported));
}

/** Of an init container without a policy of its own, upstream looks at the rules no further. */
function validateInitRestartRules(container: Container, path: FieldPath, faults: Faults): void {
  if (container.restartPolicy !== undefined) validateRestartRules(container, path, faults);
  else if (container.restartPolicyRules) faults.push(missingRestartPolicy(path));
}

const missingRestartPolicy = (path: FieldPath): FieldError =>
  requiredValue(path.child("restartPolicy"), "must specify restartPolicy when restart rules are used");

function validateRestartRules(container: Container, path: FieldPath, faults: Faults): void {
  const { restartPolicy, restartPolicyRules: rules = [] } = container;
  if (rules.length === 0) return;
  if (restartPolicy === undefined) faults.push(missingRestartPolicy(path));
  const at = path.child("restartPolicyRules");
  if (rules.length > 20) faults.push(tooMany(at, rules.length, 20));
  for (const [index, rule] of rules.entries()) validateRestartRule(rule, at.index(index), faults);
}

function validateRestartRule({ action, exitCodes }: ContainerRestartRule, path: FieldPath, faults: Faults): void {
  const actions = ["Restart", "RestartAllContainers"];
  if (!actions.includes(action)) faults.push(unsupportedValue(path.child("action"), action, actions));
  const at = path.child("exitCodes");
  if (!exitCodes) {
    faults.push(requiredValue(at, "must be specified"));
    return;
  }
  const { operator, values = [] } = exitCodes;
  if (operator !== "In" && operator !== "NotIn") {
    faults.push(unsupportedValue(at.child("operator"), operator, ["In", "NotIn"]));
  }
  if (values.length > 255) faults.push(tooMany(at.child("values"), values.length, 255));
}
