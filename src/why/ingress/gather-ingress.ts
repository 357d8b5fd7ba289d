import { Secret } from "#api/core/secret.ts";
import { Service } from "#api/core/service.ts";
import { type Ingress, type IngressBackend } from "#api/networking/ingress.ts";
import { IngressClass } from "#api/networking/ingress-class.ts";
import { isNotFound } from "#api/status.ts";
import { ingressClassAnnotation } from "#api/well-known.ts";
import { type Client } from "#client/client.ts";
import { type IngressFacts, type SeenEvent, type ServiceFacts } from "../facts.ts";

export interface IngressReader {
  readonly client: Client;
  events(): Promise<readonly SeenEvent[]>;
  service(service: Service): Promise<ServiceFacts>;
}

/** How many services and secrets are looked at. More would only make the answer longer. */
const maxLookedAt = 20;

/** Reads what decides whether requests for an Ingress are answered. */
export async function gatherIngress(reader: IngressReader, ingress: Ingress): Promise<IngressFacts> {
  const { client } = reader;
  const { metadata, spec } = ingress;
  const { namespace } = metadata;
  const className = spec.ingressClassName ?? metadata.annotations?.[ingressClassAnnotation];
  const names = new Set(backendsOf(ingress).flatMap(({ service }) => service?.name ?? []));
  const secretNames = new Set((spec.tls ?? []).flatMap(({ secretName }) => secretName || []));
  const [ingressClass, events, services, secrets] = await Promise.all([
    className === undefined ? undefined : orMissing(client.get(IngressClass, { name: className })),
    reader.events(),
    Promise.all(
      [...names].slice(0, maxLookedAt).map(async (name) => {
        const service = await orMissing(client.get(Service, { namespace, name }));
        return [name, service && (await reader.service(service))] as const;
      }),
    ),
    Promise.all(
      [...secretNames].slice(0, maxLookedAt).map(async (name) => {
        // A user who may not read secrets gets the rest of the answer.
        const secret = await client
          .get(Secret, { namespace, name })
          .catch((error) => (isNotFound(error) ? undefined : "hidden"));
        return [name, typeof secret === "string" ? secret : secret?.type] as const;
      }),
    ),
  ]);
  return { ingress, className, ingressClass, events, services: new Map(services), secrets: new Map(secrets) };
}

export const backendsOf = ({ spec }: Ingress): IngressBackend[] => [
  ...(spec.defaultBackend ? [spec.defaultBackend] : []),
  ...(spec.rules ?? []).flatMap(({ http }) => http?.paths.map(({ backend }) => backend) ?? []),
];

const orMissing = <T>(read: Promise<T>): Promise<T | undefined> =>
  read.catch((error: unknown) => {
    if (isNotFound(error)) return undefined;
    throw error;
  });
