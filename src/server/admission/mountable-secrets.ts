import { type AnyContainer } from "#api/core/pod/pod-containers.ts";
import { type Pod } from "#api/core/pod.ts";
import { type ServiceAccount } from "#api/core/service-account.ts";
import { enforceMountableAnnotation } from "#api/well-known.ts";
import { type AdmissionRequest } from "./plugin.ts";
import { refusal } from "./refuse.ts";

const truths = new Set(["1", "t", "T", "true", "TRUE", "True"]);

/** An account with that annotation allows its pods only the secrets that it names. */
export function checkMountable(request: AdmissionRequest, pod: Pod, account: ServiceAccount): void {
  if (!truths.has(account.metadata.annotations?.[enforceMountableAnnotation] ?? "")) return;
  const allowed = { account, secrets: namesOf(account.secrets) };
  const fault =
    request.operation === "UPDATE"
      ? containersFault("ephemeral container", pod.spec.ephemeralContainers ?? [], allowed)
      : podFault(pod, allowed);
  if (fault) throw refusal(request, fault);
}

/** An account and the names of its secrets. */
interface Allowed {
  readonly account: ServiceAccount;
  readonly secrets: ReadonlySet<string | undefined>;
}

const namesOf = (references: readonly { readonly name?: string }[] = []): ReadonlySet<string | undefined> =>
  new Set(references.map(({ name }) => name));

function podFault({ spec }: Pod, allowed: Allowed): string | undefined {
  const { account, secrets } = allowed;
  const name = account.metadata.name;
  for (const { secret } of spec.volumes ?? []) {
    if (!secret || secrets.has(secret.secretName)) continue;
    return `volume with secret.secretName="${secret.secretName ?? ""}" is not allowed because service account ${name} does not reference that secret`;
  }
  return (
    containersFault("init container", spec.initContainers ?? [], allowed) ??
    containersFault("container", spec.containers, allowed) ??
    pullSecretsFault(spec.imagePullSecrets ?? [], account)
  );
}

function containersFault(
  kind: string,
  containers: readonly AnyContainer[],
  { account, secrets }: Allowed,
): string | undefined {
  const tail = (secret: string | undefined) =>
    `referencing secret.secretName="${secret ?? ""}" is not allowed because service account ${account.metadata.name} does not reference that secret`;
  for (const { name, env = [], envFrom = [] } of containers) {
    for (const { name: variable, valueFrom } of env) {
      const ref = valueFrom?.secretKeyRef;
      if (ref && !secrets.has(ref.name)) return `${kind} ${name} with envVar ${variable} ${tail(ref.name)}`;
    }
    for (const { secretRef } of envFrom) {
      if (secretRef && !secrets.has(secretRef.name)) return `${kind} ${name} with envFrom ${tail(secretRef.name)}`;
    }
  }
  return undefined;
}

function pullSecretsFault(refs: readonly { name?: string }[], account: ServiceAccount): string | undefined {
  const known = namesOf(account.imagePullSecrets);
  const index = refs.findIndex((ref) => !known.has(ref.name));
  if (index < 0) return undefined;
  return `imagePullSecrets[${index}].name="${refs[index]?.name ?? ""}" is not allowed because service account ${account.metadata.name} does not reference that imagePullSecret`;
}
