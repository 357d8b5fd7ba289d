import { defineResource } from "../resource.ts";
import {
  type CustomResourceDefinition as Definition,
  definitionFields,
  type SentDefinition,
} from "./definition-fields.ts";
import { initialStatus, markTerminating, noteStorageVersion } from "./definition-status.ts";
import {
  validateDefinition,
  validateDefinitionCreate,
  validateDefinitionStatus,
  validateDefinitionUpdate,
} from "./validate-definition.ts";

import { warnOfFormats } from "./warn-of-formats.ts";

export interface CustomResourceDefinition extends Definition {}

export const CustomResourceDefinition = defineResource(
  "apiextensions.k8s.io/v1.CustomResourceDefinition",
  definitionFields,
  {
    doc: "Adds a kind of its own to the API: its names, versions and schemas.",
    scope: "Cluster",
    shortNames: ["crd", "crds"],
    categories: ["api-extensions"],
    storagePrefix: "apiextensions.k8s.io/customresourcedefinitions",
    keptAsBytes: true,
    hasGeneration: true,
    conditionalUpdate: true,
    withStatus: initialStatus,

    defaults({ spec }) {
      const { names } = spec;
      names.singular ??= names.kind.toLowerCase();
      if (names.kind) names.listKind ??= `${names.kind}List`;
      spec.conversion ??= { strategy: "None" };
    },
    prepareForUpdate: noteStorageVersion,
    prepareForStatusUpdate(definition) {
      if (definition.status.storedVersions.length === 0) noteStorageVersion(definition);
    },
    prepareForDeletion: markTerminating,
    // It controls its own end: the finalizer below holds it until its objects are gone.
    holdsDeletion: () => false,
    validate: validateDefinition,
    validateCreate: validateDefinitionCreate,
    validateUpdate: validateDefinitionUpdate,
    validateStatusUpdate: validateDefinitionStatus,
    warnings: warnOfFormats,
  },
);

/** The name that a definition must have. */
export const definitionName = ({ spec }: Pick<SentDefinition, "spec">): string => `${spec.names.plural}.${spec.group}`;
