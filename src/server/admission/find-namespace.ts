import { Namespace } from "#api/core/namespace.ts";
import { type Client } from "#client/client.ts";
import { type Informer } from "#runtime/informer.ts";
import { type AdmissionRequest } from "./plugin.ts";

export interface NamespaceSource {
  readonly namespaces: Informer<Namespace>;
  /** Asked for a namespace that the cache does not have yet, because it may have just been created. */
  readonly client?: Pick<Client, "get"> | undefined;
}

/**
 * The namespace of a request; undefined if it does not exist and there is no client to ask. The signal is read only for
 * that, because a request makes its signal when it is read for the first time.
 */
export const findNamespace = (
  { namespaces, client }: NamespaceSource,
  request: Pick<AdmissionRequest, "namespace" | "signal">,
  name = request.namespace,
): Namespace | undefined | Promise<Namespace> =>
  namespaces.get({ name }) ?? client?.get(Namespace, { name }, { signal: request.signal });
