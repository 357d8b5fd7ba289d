import type { AnyContainer } from "#api/core/pod/pod-containers.ts";
import type { Pod } from "#api/core/pod.ts";
import type { ResourceClaim } from "#api/devices/resource-claim.ts";
import { quantityValue } from "#api/meta/quantity.ts";
import type { Clock } from "#lib/async/clock.ts";
import { KeyedTurns } from "#lib/async/keyed-turns.ts";
import { own } from "#lib/data/own.ts";
import { GrpcClient } from "#lib/proto/grpc/client.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { type ClaimToPrepare, draCalls, draService, type PreparedDevice } from "./dra-calls.ts";
import { type PreparedClaim, PreparedClaims } from "./prepared-claims.ts";

export interface ClaimManagerOptions {
  /** The file of prepared claims. */
  readonly file: string;
  readonly clock: Clock;
}
/** A driver as it registers. */
export interface DriverInfo {
  readonly name: string;
  /** Its socket. */
  readonly endpoint: string;
  readonly versions: readonly string[];
}
export type ReadClaim = (namespace: string, name: string) => Promise<ResourceClaim>;

/** As upstream: drivers may have to work for a while. */
const callTimeoutMs = 45_000;

/** The drivers of devices on this node, and which claims they have prepared for pods. */
export class ClaimManager implements Disposable {
  readonly #clock: Clock;
  readonly #prepared: PreparedClaims;
  readonly #drivers = new Map<string, GrpcClient>();
  /** By claim, because pods may share one. A driver that does not answer must not hold up the claims of others. */
  readonly #turns = new KeyedTurns();

  private constructor(clock: Clock, prepared: PreparedClaims) {
    this.#clock = clock;
    this.#prepared = prepared;
  }

  static async open({ file, clock }: ClaimManagerOptions): Promise<ClaimManager> {
    return new ClaimManager(clock, await PreparedClaims.open(file));
  }

  register({ name, endpoint, versions }: DriverInfo): void {
    if (!versions.includes(draService)) {
      const supported = `none of services supported by the plugin (${quoted(versions)}) are supported by the kubelet`;
      throw new Error(
        `invalid supported gRPC versions of DRA driver plugin ${name} at endpoint ${endpoint}: ${supported}`,
      );
    }
    this.#drivers.get(name)?.close();
    this.#drivers.set(name, new GrpcClient({ address: `unix://${endpoint}`, clock: this.#clock }));
  }

  unregister({ name }: DriverInfo): void {
    this.#drivers.get(name)?.close();
    this.#drivers.delete(name);
  }

  /** Lets the drivers prepare all claims of a pod, before anything of it starts. Rejects if one cannot. */
  async prepare(pod: Pod, read: ReadClaim): Promise<void> {
    for (const name of claimNames(pod).values()) {
      const prepare = async () => this.#prepareOne(pod, await this.#read(pod, name, read));
      await this.#turns.take(turnOf(pod.metadata.namespace, name), prepare);
    }
  }

  /** The CDI names of the devices that a container uses. */
  devicesOf(pod: Pod, container: AnyContainer): string[] {
    const names = claimNames(pod);
    const { namespace } = pod.metadata;
    const uses = [...(container.resources.claims ?? []), ...extendedUses(pod, container)];
    return uses.flatMap(({ name, request }) => {
      const claim = this.#prepared.named(namespace, names.get(name) ?? "");
      if (!claim?.pods.includes(pod.metadata.uid)) return [];
      const devices = Object.values(claim.drivers).flatMap((one) => one ?? []);
      return devices.filter((device) => isFor(device, request)).flatMap(({ cdiDeviceIds }) => cdiDeviceIds);
    });
  }

  /** The containers of the pod have ended: what no other pod uses is undone. */
  async unprepare({ metadata: { uid: pod } }: Pod): Promise<void> {
    for (const { namespace, name, uid } of this.#prepared.usedBy(pod)) {
      await this.#turns.take(turnOf(namespace, name), () => this.#leave(uid, pod));
    }
  }

  [Symbol.dispose](): void {
    for (const client of this.#drivers.values()) client.close();
  }

  async #leave(uid: string, pod: string): Promise<void> {
    const claim = this.#prepared.get(uid);
    if (!claim?.pods.includes(pod)) return;
    const pods = claim.pods.filter((other) => other !== pod);
    if (pods.length > 0) await this.#prepared.put({ ...claim, pods });
    else await this.#unprepareOne(claim);
  }

  async #read(pod: Pod, name: string, read: ReadClaim): Promise<ResourceClaim> {
    const { namespace, name: podName, uid } = pod.metadata;
    const claim = await read(namespace, name).catch((error: unknown) => {
      throw new Error(`fetch ResourceClaim ${name}: ${messageOf(error)}`, { cause: error });
    });
    if (!claim.status.reservedFor?.some((consumer) => consumer.uid === uid)) {
      const why = `is not allowed to use ResourceClaim ${name} (${claim.metadata.uid})`;
      throw new Error(`pod ${podName} (${uid}) ${why}`);
    }
    return claim;
  }

  async #prepareOne({ metadata: { uid: pod } }: Pod, { metadata, status }: ResourceClaim): Promise<void> {
    const { namespace, name, uid } = metadata;
    const other = this.#prepared.named(namespace, name);
    if (other && other.uid !== uid) {
      throw new Error(`old ResourceClaim with same name ${name} and different UID ${other.uid} still exists`);
    }
    const drivers = new Set(status.allocation?.devices.results?.map(({ driver }) => driver));
    for (const driver of drivers) this.#clientOf(driver, name);
    const waiting = Object.fromEntries(Array.from(drivers, (driver) => [driver, null]));
    let claim: PreparedClaim = this.#prepared.get(uid) ?? { namespace, name, uid, pods: [], drivers: waiting };
    if (!claim.pods.includes(pod)) claim = { ...claim, pods: [...claim.pods, pod] };
    // Noted first: whatever happens now, the drivers are asked to undo it.
    await this.#prepared.put(claim);
    for (const [driver, done] of Object.entries(claim.drivers)) {
      if (done) continue;
      const devices = await this.#askToPrepare(driver, { namespace, name, uid });
      claim = { ...claim, drivers: { ...claim.drivers, [driver]: devices } };
      await this.#prepared.put(claim);
    }
  }

  async #askToPrepare(driver: string, claim: ClaimToPrepare): Promise<readonly PreparedDevice[]> {
    const client = this.#clientOf(driver, claim.name);
    const answer = await client
      .call(draCalls.prepare, { claims: [claim] }, { timeoutMs: callTimeoutMs })
      .catch(wrapped("NodePrepareResources"));
    const result = answer.claims.find(({ uid }) => uid === claim.uid)?.result;
    if (!result) throw new Error("NodePrepareResources skipped 1 ResourceClaims");
    if (result.error) throw new Error(`NodePrepareResources failed for ResourceClaim ${claim.name}: ${result.error}`);
    return result.devices;
  }

  async #unprepareOne({ namespace, name, uid, drivers }: PreparedClaim): Promise<void> {
    for (const driver of Object.keys(drivers)) {
      const client = this.#clientOf(driver, name);
      const answer = await client
        .call(draCalls.unprepare, { claims: [{ namespace, name, uid }] }, { timeoutMs: callTimeoutMs })
        .catch(wrapped("NodeUnprepareResources"));
      const result = answer.claims.find((one) => one.uid === uid);
      if (!result) throw new Error("NodeUnprepareResources skipped 1 ResourceClaims");
      const error = result.result?.error;
      if (error) throw new Error(`NodeUnprepareResources failed for ResourceClaim ${name}: ${error}`);
    }
    await this.#prepared.delete(uid);
  }

  #clientOf(driver: string, claim: string): GrpcClient {
    const client = this.#drivers.get(driver);
    if (!client) throw new Error(`ResourceClaim ${claim}: DRA driver ${driver} is not registered`);
    return client;
  }
}

const turnOf = (namespace: string, name: string): string => `${namespace}/${name}`;

export const hasClaims = ({ spec, status }: Pod): boolean =>
  (spec.resourceClaims?.length ?? 0) > 0 || status.extendedResourceClaimStatus !== undefined;

/** What a container gets of the claim for extended resources. */
const extendedUses = ({ status }: Pod, { name: container, resources }: AnyContainer) =>
  (status.extendedResourceClaimStatus?.requestMappings ?? [])
    .filter((one) => one.containerName === container && isRequested(resources, one.resourceName))
    .map(({ requestName: request }) => ({ name: forExtended, request }));

const isRequested = ({ requests }: AnyContainer["resources"], resource: string): boolean =>
  quantityValue(own(requests, resource) ?? "0") > 0;

/** Stands for the claim that the scheduler created. No entry of a pod has this name. */
const forExtended = "";

/** Entry of the pod → the name of its claim. */
function claimNames({ spec, status }: Pod): Map<string, string> {
  const made = new Map(status.resourceClaimStatuses?.map((one) => [one.name, one.resourceClaimName]));
  const names = (spec.resourceClaims ?? []).map(({ name, resourceClaimName }) => [
    name,
    resourceClaimName ?? made.get(name),
  ]);
  names.push([forExtended, status.extendedResourceClaimStatus?.resourceClaimName]);
  return new Map(names.filter((entry): entry is [string, string] => entry[1] !== undefined));
}

/** A device without names is for every request. An alternative belongs to its request. */
const isFor = ({ requestNames }: PreparedDevice, request: string | undefined): boolean =>
  !request ||
  requestNames.length === 0 ||
  requestNames.some((name) => name === request || name.startsWith(`${request}/`));

const quoted = (texts: readonly string[]): string => `[${texts.map((text) => JSON.stringify(text)).join(" ")}]`;
const wrapped =
  (what: string) =>
  (error: unknown): never => {
    throw new Error(`${what}: ${messageOf(error)}`, { cause: error });
  };
