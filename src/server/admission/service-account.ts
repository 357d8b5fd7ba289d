import { referencesOf } from "#api/core/pod/pod-references.ts";
import { Pod } from "#api/core/pod.ts";
import { ServiceAccount } from "#api/core/service-account.ts";
import { isNotFound } from "#api/status.ts";
import { mirrorAnnotation } from "#api/well-known.ts";
import { type Client } from "#client/client.ts";
import { type Clock } from "#lib/async/clock.ts";
import { type Random } from "#lib/data/random.ts";
import { type Informer, type Informers } from "#runtime/informer.ts";
import { checkMountable } from "./mountable-secrets.ts";
import { isAbout, objectOf } from "./object-of.ts";
import { type AdmissionPlugin, type AdmissionRequest } from "./plugin.ts";
import { refusal } from "./refuse.ts";
import { mountToken } from "./token-volume.ts";

export interface ServiceAccountDeps {
  readonly informers: Informers;
  readonly clock: Clock;
  readonly random: Random;
  readonly client?: Pick<Client, "get">;
}

/** In a new namespace the account of this name is about to appear. */
const defaultAccount = "default";
const defaultAccountWaitMs = 1500;

/** Gives every pod an existing service account, a token for it, and its pull secrets. */
export function serviceAccount(deps: ServiceAccountDeps): AdmissionPlugin {
  const accounts = deps.informers.of(ServiceAccount);
  const find = (request: AdmissionRequest, name: string) =>
    accounts.get({ namespace: request.namespace, name }) ?? findLate({ ...deps, accounts }, request, name);
  return {
    name: "ServiceAccount",
    appliesTo: (request) =>
      isAbout(Pod, request) &&
      ((request.operation === "CREATE" && request.subresource === "") ||
        (request.operation === "UPDATE" && request.subresource === "ephemeralcontainers")),
    mutate(request) {
      const pod = objectOf(Pod, request);
      if (!pod || request.operation !== "CREATE" || isMirror(pod)) return;
      pod.spec.serviceAccountName ||= defaultAccount;
      pod.spec.serviceAccount = pod.spec.serviceAccountName;
      const found = find(request, pod.spec.serviceAccountName);
      const fill = (account: ServiceAccount) => fillFrom(account, pod, deps.random);
      return found instanceof Promise ? found.then(fill) : fill(found);
    },
    validate(request) {
      const pod = objectOf(Pod, request);
      if (!pod) return;
      if (isMirror(pod) && request.operation === "CREATE") return checkMirror(request, pod);
      const { serviceAccountName: name } = pod.spec;
      if (!name) {
        throw refusal(request, `no service account specified for pod ${request.namespace}/${pod.metadata.name}`);
      }
      const found = find(request, name);
      const check = (account: ServiceAccount) => checkMountable(request, pod, account);
      return found instanceof Promise ? found.then(check) : check(found);
    },
  };
}

const isMirror = ({ metadata }: Pod): boolean => metadata.annotations?.[mirrorAnnotation] !== undefined;

function fillFrom(account: ServiceAccount, pod: Pod, random: Random): void {
  const { spec } = pod;
  const wantsToken = spec.automountServiceAccountToken ?? account.automountServiceAccountToken ?? true;
  if (wantsToken) mountToken(spec, random);
  if (!spec.imagePullSecrets?.length && account.imagePullSecrets?.length) {
    spec.imagePullSecrets = account.imagePullSecrets.map(({ name }) => (name ? { name } : {}));
  }
}

/** A static pod must run without the API server, so it may not need anything from it. */
function checkMirror(request: AdmissionRequest, pod: Pod): void {
  if (pod.spec.serviceAccountName) throw refusal(request, "a mirror pod may not reference service accounts");
  if (referencesOf(pod).secrets.size > 0) throw refusal(request, "a mirror pod may not reference secrets");
  const sources = (pod.spec.volumes ?? []).flatMap(({ projected }) => projected?.sources ?? []);
  if (sources.some((source) => source.serviceAccountToken)) {
    throw refusal(request, "a mirror pod may not use ServiceAccountToken volume projections");
  }
}

interface Lookup extends ServiceAccountDeps {
  readonly accounts: Informer<ServiceAccount>;
}

async function findLate(deps: Lookup, request: AdmissionRequest, name: string): Promise<ServiceAccount> {
  const { namespace } = request;
  const found =
    (await readPastCache(deps, request, name)) ??
    (name === defaultAccount ? await appearing(deps, request, name) : undefined);
  if (found) return found;
  const missing = `serviceaccount ${JSON.stringify(name)} not found`;
  throw refusal(request, `error looking up service account ${namespace}/${name}: ${missing}`);
}

async function readPastCache(
  { client }: Lookup,
  { namespace, signal }: AdmissionRequest,
  name: string,
): Promise<ServiceAccount | undefined> {
  try {
    return await client?.get(ServiceAccount, { namespace, name }, { signal });
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/** The account as soon as it exists; undefined if it does not appear in time. */
function appearing(
  { accounts, clock }: Lookup,
  { namespace, signal }: AdmissionRequest,
  name: string,
): Promise<ServiceAccount | undefined> {
  return new Promise((resolve) => {
    const done = (found: ServiceAccount | undefined): void => {
      stopWaiting();
      unsubscribe();
      signal.removeEventListener("abort", giveUp);
      resolve(found);
    };
    const giveUp = () => done(undefined);
    const stopWaiting = clock.after(defaultAccountWaitMs, giveUp);
    signal.addEventListener("abort", giveUp, { once: true });
    const isWanted = ({ metadata }: ServiceAccount) => metadata.name === name && metadata.namespace === namespace;
    let early: ServiceAccount | undefined;
    let unsubscribe = () => {};
    // Existing objects are delivered before subscribe() returns.
    let isSubscribed = false;
    unsubscribe = accounts.subscribe(({ type, object }) => {
      if (type !== "put" || !isWanted(object)) return;
      if (isSubscribed) done(object);
      else early = object;
    });
    isSubscribed = true;
    if (early) done(early);
  });
}
