import { Environment } from "#cel/declare/environment.ts";
import { listLibrary } from "#cel/library/lists.ts";
import { localizedClauses } from "#cel/library/localized-format.ts";
import { optionalLibrary } from "#cel/library/optionals.ts";
import { literalLibrary, patternLibrary } from "#cel/library/patterns.ts";
import { setLibrary } from "#cel/library/sets.ts";
import { standardLibrary } from "#cel/library/standard.ts";
import { createStringLibrary } from "#cel/library/strings.ts";
import { twoVariableLibrary } from "#cel/library/two-variables.ts";
import { addressLibrary } from "./addresses.ts";
import { authorizerLibrary } from "./authorizer.ts";
import { kubernetesCosts } from "./costs.ts";
import { formatLibrary } from "./formats.ts";
import { kubernetesListLibrary } from "./lists.ts";
import { findLibrary } from "./patterns.ts";
import { quantityLibrary } from "./quantity.ts";
import { semverLibrary } from "./semver.ts";
import { urlLibrary } from "./urls.ts";

/** What one evaluation may cost. */
export const perCallLimit = 1_000_000;
let base: Environment | undefined;

/** What every expression in Kubernetes may use. Extend it with the variables of the place. */
export function kubernetesEnvironment(): Environment {
  base ??= new Environment({
    libraries: [
      standardLibrary,
      patternLibrary,
      literalLibrary,
      optionalLibrary,
      createStringLibrary(localizedClauses),
      setLibrary,
      twoVariableLibrary,
      listLibrary,
      urlLibrary,
      findLibrary,
      kubernetesListLibrary,
      authorizerLibrary,
      quantityLibrary,
      addressLibrary,
      formatLibrary,
      semverLibrary,
    ],
    uniformLiterals: true,
    presenceTestCosts: false,
    costs: kubernetesCosts,
  });
  return base;
}
