import {
  type Container,
  type ContainerPort,
  type ContainerRestartRule,
  type EphemeralContainer,
} from "#api/core/container/container.ts";
import { validateRequirements } from "#api/core/container/validate-resources.ts";
import { type Volume } from "#api/core/volume/volume.ts";
import { type Cursor } from "#api/cursor.ts";
import { portName, portNumber } from "#api/meta/names.ts";
import { isSidecar } from "../pod-resources.ts";
import { type PodSpec } from "../pod-spec.ts";
import { validateEnv, validateEnvFrom } from "./validate-env.ts";
import { validateMountsAndDevices } from "./validate-mounts.ts";
import { validateLifecycle, validateProbes } from "./validate-probe.ts";
import { validateSecurityContext } from "./validate-security-context.ts";

/** What the rules about a container need to know of its pod. */
export interface ContainerContext {
  readonly spec: PodSpec;
  /** Volumes without faults. */
  readonly volumes: ReadonlyMap<string, Volume>;
  readonly claimNames: ReadonlySet<string>;
}

export function validateContainers(pod: Cursor<PodSpec>, context: ContainerContext): void {
  const names = new Set<string>();
  pod.each("containers", (at) => {
    validateContainer(at, context);
    at.field("name").unique(names);
    validateLife(at, context.spec);
    validateRestartRules(at);
  });
  const taken = new Set<string>();
  pod.each("containers", (at) => validateHostPorts(at, taken));
}

/** What a container does at its start, while it runs, and at its end. */
function validateLife(at: Cursor<Container>, { terminationGracePeriodSeconds: gracePeriod, os }: PodSpec): void {
  at.on("lifecycle", (at) => validateLifecycle(at, gracePeriod, os?.name));
  validateProbes(at, gracePeriod);
}

export function validateInitContainers(pod: Cursor<PodSpec>, context: ContainerContext): void {
  const names = new Set(context.spec.containers.map(({ name }) => name));
  pod.each("initContainers", (at) => {
    const container = at.value;
    validateContainer(at, context);
    // Upstream does not check the rules of an init container without its own policy.
    if (container.restartPolicy !== undefined) validateRestartRules(at);
    else if (container.restartPolicyRules) missRestartPolicy(at);
    if (names.has(container.name)) at.field("name").duplicate();
    if (container.name) names.add(container.name);
    // Upstream counts the ports of each init container as if it were the first.
    validateHostPorts(pod.field("initContainers").key(0, container), new Set());
    if (isSidecar(container)) validateLife(at, context.spec);
    else refuseForPlainInit(at);
  });
}

function refuseForPlainInit(at: Cursor<Container>): void {
  for (const name of ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"] as const) {
    if (at.value[name] === undefined) continue;
    at.field(name).forbidden("may not be set for init containers without restartPolicy=Always");
  }
  at.each("resizePolicy", (at) => {
    if (at.value.restartPolicy !== "RestartContainer") return;
    at.field("restartPolicy").invalid("must not be set to 'RestartContainer' for non-sidecar initContainers");
  });
}

const notForEphemeral = [
  ...(["ports", "resizePolicy", "restartPolicy", "restartPolicyRules"] as const),
  ...(["livenessProbe", "readinessProbe", "startupProbe", "lifecycle"] as const),
];

export function validateEphemeralContainers(pod: Cursor<PodSpec>, context: ContainerContext): void {
  const { containers, initContainers = [] } = context.spec;
  const targets = new Set([...containers, ...initContainers].map(({ name }) => name));
  const names = new Set(targets);
  pod.each("ephemeralContainers", (at) => {
    const { targetContainerName: target } = at.value;
    validateContainer(at, context);
    validateImage(at);
    at.field("name").unique(names);
    if (target && !targets.has(target)) at.field("targetContainerName").notFound();
    refuseForEphemeral(at);
  });
}

function refuseForEphemeral(at: Cursor<EphemeralContainer>): void {
  const detail = "cannot be set for an Ephemeral Container";
  for (const name of notForEphemeral) if (at.value[name] !== undefined) at.field(name).forbidden(detail);
  if (Object.keys(at.value.resources).length > 0) at.field("resources").forbidden(detail);
  at.each("volumeMounts", (at) => {
    at.set("subPath")?.forbidden(detail);
    at.set("subPathExpr")?.forbidden(detail);
  });
}

/** The rules for all types of containers. */
function validateContainer(at: Cursor<Container | EphemeralContainer>, context: ContainerContext): void {
  const { spec, volumes, claimNames } = context;
  at.field("image").required();
  validatePorts(at);
  at.each("env", validateEnv);
  validateEnvFrom(at);
  validateMountsAndDevices(at, volumes);
  validateRequirements(at.field("resources"), "container", claimNames);
  validateResizePolicy(at, spec.restartPolicy);
  at.on("securityContext", (at) => validateSecurityContext(at, spec.hostUsers !== false));
}

/** Only for pods: a template may still contain a placeholder. */
export function validateImage(at: Cursor<Pick<Container, "image">>): void {
  const { image } = at.value;
  if (image === undefined || image.trim() === image) return;
  at.field("image").invalid("must not have leading or trailing whitespace");
}

function validatePorts(container: Cursor<{ ports?: ContainerPort[] }>): void {
  const names = new Set<string>();
  container.each("ports", (at) => {
    const { name, containerPort } = at.value;
    if (name) {
      const { faultCount } = at;
      at.field("name").rule(portName);
      if (names.has(name)) at.field("name").duplicate();
      else if (at.faultCount === faultCount) names.add(name);
    }
    if (containerPort === 0) at.field("containerPort").missing();
    else at.field("containerPort").invalid(portNumber(containerPort));
  });
}

/** A port of the node can be used only once. */
function validateHostPorts(container: Cursor<Container>, taken: Set<string>): void {
  container.each("ports", (at) => {
    const { hostPort, protocol, hostIP = "" } = at.value;
    if (hostPort) at.field("hostPort").as(`${protocol}/${hostIP}/${hostPort}`).unique(taken);
  });
}

const resizableResources = ["cpu", "memory"];
const resizePolicies = ["NotRequired", "RestartContainer"];

function validateResizePolicy(container: Cursor<Pick<Container, "resizePolicy">>, podPolicy: string): void {
  const seen = new Set<string>();
  container.each("resizePolicy", (at) => {
    const { resourceName, restartPolicy } = at.value;
    const list = container.field("resizePolicy");
    at.as(resourceName).unique(seen);
    if (list.as(resourceName).required()) list.as(resourceName).oneOf(resizableResources);
    if (list.as(restartPolicy).required()) list.as(restartPolicy).oneOf(resizePolicies);
    if (podPolicy === "Never" && restartPolicy !== "NotRequired") {
      list.invalid("must be 'NotRequired' when pod `restartPolicy` is 'Never'", restartPolicy);
    }
  });
}

const missRestartPolicy = (at: Cursor<Container>): void =>
  at.field("restartPolicy").missing("must specify restartPolicy when restart rules are used");

function validateRestartRules(at: Cursor<Container>): void {
  const { restartPolicy, restartPolicyRules: rules = [] } = at.value;
  if (rules.length === 0) return;
  if (restartPolicy === undefined) missRestartPolicy(at);
  if (rules.length > 20) at.field("restartPolicyRules").tooMany(rules.length, 20);
  at.each("restartPolicyRules", validateRestartRule);
}

function validateRestartRule(at: Cursor<ContainerRestartRule>): void {
  at.field("action").oneOf(["Restart", "RestartAllContainers"]);
  at.field("exitCodes").required("must be specified");
  at.on("exitCodes", (at) => {
    at.field("operator").oneOf(["In", "NotIn"]);
    const { values = [] } = at.value;
    if (values.length > 255) at.field("values").tooMany(values.length, 255);
  });
}
