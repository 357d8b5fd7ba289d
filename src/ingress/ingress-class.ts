import { type Ingress } from "#api/networking/ingress.ts";
import { IngressClass } from "#api/networking/ingress-class.ts";
import { type InputOf } from "#api/resource.ts";
import { isAlreadyExists } from "#api/status.ts";
import { defaultIngressClassAnnotation, ingressClassAnnotation } from "#api/well-known.ts";
import { type Client } from "#client/client.ts";

/** What IngressClasses name to be served by this component, and the class that it creates. */
export const ingressController = "orlop.dev/ingress";
export const ingressClassName = "orlop";

/** Creates the class if there is none of that name. It becomes the default unless there is another one. */
export async function ensureIngressClass(client: Client, signal: AbortSignal): Promise<void> {
  const { items } = await client.list(IngressClass, { signal });
  if (items.some(({ metadata }) => metadata.name === ingressClassName)) return;
  const hasDefault = items.some(({ metadata }) => metadata.annotations?.[defaultIngressClassAnnotation] === "true");
  await client.create(IngressClass, ownClass({ isDefault: !hasDefault }), { signal }).catch((error: unknown) => {
    if (!isAlreadyExists(error)) throw error;
  });
}

const ownClass = ({ isDefault }: { readonly isDefault: boolean }): InputOf<IngressClass> => ({
  metadata: {
    name: ingressClassName,
    ...(isDefault ? { annotations: { [defaultIngressClassAnnotation]: "true" } } : {}),
  },
  spec: { controller: ingressController },
});

/** Whether this component serves an Ingress. One without a class is nobody's. */
export function isOwnIngress(
  { metadata, spec }: Ingress,
  classNamed: (name: string) => IngressClass | undefined,
): boolean {
  const name = spec.ingressClassName ?? metadata.annotations?.[ingressClassAnnotation];
  return name !== undefined && !metadata.deletionTimestamp && classNamed(name)?.spec.controller === ingressController;
}
