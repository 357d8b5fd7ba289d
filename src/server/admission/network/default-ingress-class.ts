import { Ingress } from "#api/networking/ingress.ts";
import { IngressClass } from "#api/networking/ingress-class.ts";
import { newestDefault } from "#api/newest-default.ts";
import { defaultIngressClassAnnotation, ingressClassAnnotation } from "#api/well-known.ts";
import { type Informers } from "#runtime/informer.ts";
import { isWriteOf, objectOf } from "../object-of.ts";
import { type AdmissionPlugin } from "../plugin.ts";

/** Gives a new ingress that names no class the default one. */
export function defaultIngressClass({ informers }: { readonly informers: Informers }): AdmissionPlugin {
  const classes = informers.of(IngressClass);
  return {
    name: "DefaultIngressClass",
    appliesTo: (request) => request.operation === "CREATE" && isWriteOf(Ingress, request),

    mutate(request) {
      const ingress = objectOf(Ingress, request);
      if (!ingress || ingress.spec.ingressClassName !== undefined) return;
      if (ingress.metadata.annotations?.[ingressClassAnnotation] !== undefined) return;
      const chosen = newestDefault(classes.list(), isDefault);
      if (chosen) ingress.spec.ingressClassName = chosen.metadata.name;
    },
  };
}

const isDefault = ({ metadata }: IngressClass): boolean =>
  metadata.annotations?.[defaultIngressClassAnnotation] === "true";
