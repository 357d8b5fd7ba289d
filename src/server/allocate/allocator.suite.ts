import { Service } from "#api/core/service.ts";
import { IPAddress } from "#api/networking/ip-address.ts";
import { type InputOf } from "#api/resource.ts";
import { assembleApiServer } from "#cluster/api-server.ts";
import { bootstrapCluster } from "#cluster/bootstrap.ts";
import { signingKey } from "#lib/crypto/jwt.ts";
import { createKey, keyToPem } from "#lib/crypto/x509.ts";
import { seededRandom } from "#lib/data/random.ts";
import { silentLog } from "#lib/process/log.ts";
import { openMemoryStore } from "#store/memory.ts";
import { type Store } from "#store/store.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { defaultServiceRanges, type ServiceRanges } from "./service-allocator.ts";

export type Spec = NonNullable<InputOf<Service>["spec"]>;

/** A server with nothing but its API. Two of them may share a store. */
export async function startAllocator(ranges: ServiceRanges = defaultServiceRanges, shared?: Store) {
  const clock = createVirtualClock();
  const store = shared ?? openMemoryStore({ clock });
  const api = await assembleApiServer({
    store,
    clock,
    log: silentLog,
    random: seededRandom(1),
    signingKey: signingKey(keyToPem(createKey())),
    serverAddress: "127.0.0.1:6443",
    serviceRanges: ranges,
  });
  const client = api.clientFor({ name: "admin", groups: ["system:masters"] });
  await bootstrapCluster(client);
  const ref = (name: string) => ({ namespace: "default", name });
  const http = [{ port: 80 }];
  return {
    create: (name: string, spec: Spec = {}, dryRun = false) =>
      client.create(Service, { metadata: ref(name), spec: { ports: http, ...spec } }, { dryRun }),
    update: (name: string, spec: Spec) =>
      client.update(Service, { metadata: ref(name), spec: { ports: http, ...spec } }),
    remove: (name: string) => client.delete(Service, ref(name)),
    revision: () => store.revision,
    store,
    client,
    api,
    clock,
    /** What is claimed, apart from the service itself: addresses and node ports. */
    async claims() {
      const { items } = await client.list(IPAddress);
      const { entries } = await store.list("/registry/ranges/servicenodeports/");
      const ports = entries.map(({ key }) => key.slice(key.lastIndexOf("/") + 1));
      return [...items.map(({ metadata }) => metadata.name), ...ports];
    },
    async [Symbol.asyncDispose]() {
      await api[Symbol.asyncDispose]();
      if (!shared) await store[Symbol.asyncDispose]();
    },
  };
}
