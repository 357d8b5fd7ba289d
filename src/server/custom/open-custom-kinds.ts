import { type CustomResourceDefinition } from "#api/apiextensions/definition-fields.ts";
import { type Change, type Informer } from "#runtime/informer.ts";
import { runReconcilers } from "#runtime/run-reconciler.ts";
import { lazyConversion } from "./conversion/lazy-conversion.ts";
import { CustomKinds } from "./custom-kinds.ts";
import { definitionController } from "./definition-controller.ts";
import { type FollowDeps } from "./follow-definitions.ts";

/** `ended`: the server ends. */
type OpenDeps = FollowDeps & { readonly ended: AbortSignal };

/** The custom kinds, and the controller of their definitions. */
export function openCustomKinds(deps: OpenDeps, definitions: Informer<CustomResourceDefinition>) {
  const { resources, log, forget } = deps;
  const builtIn = resources.all();
  const kinds = new CustomKinds({
    ...{ resources, forget, definition: (name) => definitions.get({ name }) },
    converterFor: (definition) => lazyConversion(deps, definition),
  });
  return {
    take({ type, object }: Change<CustomResourceDefinition>): void {
      const { name } = object.metadata;
      try {
        if (type === "delete") kinds.delete(name);
        else kinds.put(object);
      } catch (error) {
        // One bad definition must not keep the others from being served.
        log.error("a custom resource definition cannot be served", { name, error });
      }
    },
    run: (signal: AbortSignal) =>
      runReconcilers([definitionController({ kinds, builtIn })], { ...deps, component: "apiextensions" }, signal),
  };
}
