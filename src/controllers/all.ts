import { type ReconcilerFactory, type RunDeps, runReconcilers } from "#runtime/run-reconciler.ts";
import { deploymentController } from "./deployment/deployment.ts";
import { endpointSliceController } from "./endpoint-slice/endpoint-slice.ts";
import { replicaSetController } from "./replica-set.ts";
import { rootCaController } from "./root-ca.ts";
import { serviceAccountController } from "./service-account.ts";

export interface ControllerOptions {
  /** Certificates, in PEM, by which pods know the API server. */
  readonly rootCa: string;
}

/** Every controller, in the order they start. */
export const controllers = (options: ControllerOptions): readonly ReconcilerFactory[] => [
  serviceAccountController,
  rootCaController(options.rootCa),
  replicaSetController,
  deploymentController,
  endpointSliceController,
];

/** Runs all controllers until the signal fires. */
export const runControllers = (deps: RunDeps & ControllerOptions, signal: AbortSignal): Promise<void> =>
  runReconcilers(controllers(deps), deps, signal);
