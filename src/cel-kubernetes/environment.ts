import { Environment } from "#cel/declare/environment.ts";
import { type Library, overload } from "#cel/declare/function.ts";
import { listLibrary } from "#cel/library/lists.ts";
import { optionalLibrary } from "#cel/library/optionals.ts";
import { literalLibrary, patternLibrary } from "#cel/library/patterns.ts";
import { setLibrary } from "#cel/library/sets.ts";
import { standardLibrary } from "#cel/library/standard.ts";
import { stringLibrary } from "#cel/library/strings.ts";
import { twoVariableLibrary } from "#cel/library/two-variables.ts";
import { stringType } from "#cel/types/type.ts";
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
      stringLibrary,
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

/** For policies that change objects: a key of a JSON patch with its slashes escaped. */
export const jsonPatchLibrary: Library = {
  functions: [
    {
      name: "jsonpatch.escapeKey",
      overloads: [
        overload("string_jsonpatch_escapeKey_string", [stringType], stringType, (meter, key) => {
          meter.allocate(2 * (key as string).length);
          return (key as string).replaceAll("~", "~0").replaceAll("/", "~1");
        }),
      ],
    },
  ],
};
