import { type Explanation } from "../explanation.ts";
import { type PodFacts } from "../facts.ts";
import { ahead } from "../times.ts";
import { describeEvent, isAbout, lastEvent, type PodPart, partName, partsOf, podName, waitingOf } from "./pod-parts.ts";

const reasons = new Set([
  "ErrImagePull",
  "ImagePullBackOff",
  "ErrImageNeverPull",
  "InvalidImageName",
  "ImageInspectError",
  "RegistryUnavailable",
]);

/** An image that cannot be pulled: hop 11. */
export function explainImages(facts: PodFacts): Explanation | undefined {
  const part = partsOf(facts.pod).find((each) => reasons.has(waitingOf(each).reason));
  if (!part) return undefined;
  const { reason, message } = waitingOf(part);
  const failed = lastEvent(facts, ["Failed"], (event) => isAbout(part)(event) && event.message.includes("pull image"));
  const detail = failed?.message ?? message;
  const { image = "" } = part.container;
  const { why, advice } = judge({ reason, detail: `${detail} ${message}`, image, part, facts });
  return {
    hop: "run",
    state: reason,
    headline: `Pod ${podName(facts.pod)} cannot start ${partName(part)}: ${why}.`,
    evidence: [
      `image: ${image}, pull policy ${part.container.imagePullPolicy ?? "IfNotPresent"}`,
      ...(message && !failed ? [message] : []),
      ...missingSecrets(facts).map((name) => `imagePullSecrets: there is no secret ${name} in the pod's namespace`),
      ...(failed ? [describeEvent(failed, facts.nowMs)] : []),
      ...nextTry(facts, reason, failed),
    ],
    advice,
  };
}

interface Case {
  readonly reason: string;
  readonly detail: string;
  readonly image: string;
  readonly part: PodPart;
  readonly facts: PodFacts;
}

const registryOf = (image: string): string => {
  const [first = "", ...rest] = image.split("/");
  return rest.length > 0 && (first.includes(".") || first.includes(":") || first === "localhost") ? first : "docker.io";
};

function judge({ reason, detail, image, facts }: Case): { why: string; advice: string[] } {
  if (reason === "InvalidImageName") {
    return {
      why: `"${image}" is not the name of an image`,
      advice: ["Correct the image: REGISTRY/REPOSITORY:TAG, all lower case."],
    };
  }
  if (reason === "ErrImageNeverPull") {
    return {
      why: `the image ${image} is not on the node, and the pull policy Never forbids pulling it`,
      advice: ["Import the image on the node, or set imagePullPolicy to IfNotPresent."],
    };
  }
  if (unreachable.test(detail)) {
    return {
      why: `the registry ${registryOf(image)} cannot be reached`,
      advice: [`Check the node's network, DNS and proxy settings for ${registryOf(image)}, or use a mirror.`],
    };
  }
  if (wrongPlatform.test(detail)) {
    return {
      why: `the image ${image} does not support the node's platform`,
      advice: [
        `Use an image for ${facts.node?.status?.nodeInfo?.architecture ?? "this architecture"}, or place the pod on another kind of node.`,
      ],
    };
  }
  if (unauthorised.test(detail)) {
    const secrets = (facts.pod.spec.imagePullSecrets ?? []).map(({ name }) => name);
    const missing = missingSecrets(facts);
    const known =
      missing.length > 0
        ? `The pod names the secret ${missing.join(", ")}, which does not exist`
        : secrets.length > 0
          ? `The login in ${secrets.join(", ")} is wrong or may not read the image`
          : "The pod has no imagePullSecrets";
    return {
      why: `the registry ${registryOf(image)} does not allow the node to pull ${image}`,
      advice: [
        `${known}: create a login with \`kubectl create secret docker-registry\`, and name it in imagePullSecrets.`,
        "Some registries give the same answer if the image does not exist: check its name.",
      ],
    };
  }
  if (notFound.test(detail)) {
    return {
      why: `the registry ${registryOf(image)} has no image ${image}`,
      advice: ["Correct the name or the tag, or push the image."],
    };
  }
  return { why: `the image ${image} could not be pulled`, advice: ["See the registry's answer above."] };
}

function missingSecrets(facts: PodFacts): string[] {
  const event = lastEvent(facts, ["FailedToRetrieveImagePullSecret"]);
  return /\(([^)]+)\)/.exec(event?.message ?? "")?.[1]?.split(", ") ?? [];
}

const unreachable =
  /no such host|connection refused|i\/o timeout|dial tcp|network is unreachable|no route to host|server misbehaving|certificate|x509|deadline exceeded|EAI_AGAIN|RegistryUnavailable|connection reset/i;
const wrongPlatform = /no match for platform|platform mismatch|does not match the specified platform/i;
const unauthorised =
  /unauthorized|authorization failed|authentication required|access denied|insufficient_scope|\b40[13]\b|denied/i;
const notFound = /not found|manifest unknown|name unknown|does not exist|\b404\b/i;

/** 10 s after the first failure, doubling up to 5 minutes. */
function nextTry(
  { nowMs }: PodFacts,
  reason: string,
  failed: { count: number; lastMs: number | undefined } | undefined,
): string[] {
  if (
    !failed?.lastMs ||
    (reason !== "ErrImagePull" && reason !== "ImagePullBackOff" && reason !== "RegistryUnavailable")
  )
    return [];
  const delayMs = Math.min(300_000, 10_000 * 2 ** Math.max(0, failed.count - 1));
  return [
    `tried ${failed.count === 1 ? "once" : `${failed.count} times`}, next try ${ahead(failed.lastMs + delayMs, nowMs)}`,
  ];
}
