import { isConditionTrue } from "#api/meta/condition.ts";
import { dns1035Label, dns1123Subdomain, type Rule } from "#api/meta/names.ts";
import { equal } from "#lib/data/equal.ts";
import { validateClientConfig } from "../admissionregistration/webhook-client-config.ts";
import { type Cursor } from "../cursor.ts";
import { validateApproval } from "./api-approval.ts";
import {
  type CustomResourceConversion,
  type CustomResourceNames,
  type CustomResourceVersion,
  type DefinitionSpec,
  type SentDefinition,
} from "./definition-fields.ts";
import { validateSchema } from "./validate-schema.ts";
import { validateColumn, validateSelectableFields, validateSubresources } from "./validate-version.ts";

/** What is wrong with a definition, whether it is new or changed. */
export function validateDefinition(at: Cursor<SentDefinition>): void {
  const { metadata, spec } = at.value;
  if (metadata.name && metadata.name !== `${spec.names.plural}.${spec.group}`) {
    at.field("metadata").field("name").invalid('must be spec.names.plural+"."+spec.group');
  }
  validateSpec(at.field("spec"));
  validateNames(at.field("status").field("acceptedNames"));
  validateStoredVersions(at);
}

export function validateDefinitionCreate(at: Cursor<SentDefinition>): void {
  validateApproval(at, undefined);
  refuseUnknownFields(at, undefined);
}

export function validateDefinitionUpdate(at: Cursor<SentDefinition>, old: SentDefinition): void {
  const spec = at.field("spec");
  if (isConditionTrue(old.status.conditions, "Established")) {
    keep(spec.field("scope"), old.spec.scope);
    keep(spec.field("names").field("kind"), old.spec.names.kind);
  }
  keep(spec.field("group"), old.spec.group);
  keep(spec.field("names").field("plural"), old.spec.names.plural);
  validateApproval(at, old);
  refuseUnknownFields(at, old);
}

export function validateDefinitionStatus(at: Cursor<SentDefinition>): void {
  validateNames(at.field("status").field("acceptedNames"));
}

function keep(at: Cursor<string>, old: string): void {
  if (at.value !== old) at.invalid("field is immutable");
}

function refuseUnknownFields(at: Cursor<SentDefinition>, old: SentDefinition | undefined): void {
  if (old?.spec.preserveUnknownFields || !at.value.spec.preserveUnknownFields) return;
  at.field("spec")
    .field("preserveUnknownFields")
    .invalid("cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead");
}

function validateSpec(at: Cursor<DefinitionSpec>): void {
  const { versions } = at.value;
  validateGroup(at.field("group"));
  if (at.field("scope").required()) at.field("scope").oneOf(["Cluster", "Namespaced"]);
  at.each("versions", (version) => {
    if (version.value.schema?.openAPIV3Schema === undefined) version.under("schema", "openAPIV3Schema").missing();
  });
  const shared = sharedParts(versions);
  at.each("versions", (version) => validateVersion(version, shared));
  const names = versions.map(({ name }) => name);
  if (new Set(names).size < names.length) at.field("versions").invalid("must contain unique version names", names);
  if (versions.filter(({ storage }) => storage).length !== 1) {
    at.field("versions").invalid("must have exactly one version marked as storage version", names);
  }
  requireNames(at.field("names"));
  validateNames(at.field("names"));
  validateShared(at, shared);
  at.on("conversion", validateConversion);
}

function validateGroup(at: Cursor<string>): void {
  if (!at.required()) return;
  const faults = dns1123Subdomain.all(at.value);
  if (faults.length > 0) at.invalid(faults.join(","));
  else if (!at.value.includes(".")) at.invalid("should be a domain with at least one dot");
}

/** A part that all versions share is reported once, where an older version of this API had it. */
interface SharedParts {
  readonly schema: boolean;
  readonly subresources: boolean;
  readonly additionalPrinterColumns: boolean;
  readonly selectableFields: boolean;
}

function sharedParts(versions: readonly CustomResourceVersion[]): SharedParts {
  const [first] = versions;
  const isShared = (part: keyof SharedParts): boolean =>
    versions.every((version) => equal(version[part], first?.[part]));
  return {
    schema: isShared("schema"),
    subresources: isShared("subresources"),
    additionalPrinterColumns: isShared("additionalPrinterColumns"),
    selectableFields: isShared("selectableFields"),
  };
}

function validateVersion(at: Cursor<CustomResourceVersion>, shared: SharedParts): void {
  joined(at.field("name"), dns1035Label);
  validateDeprecation(at);
  const { schema, subresources } = at.value;
  const hasStatus = subresources?.status !== undefined;
  if (!shared.schema) at.on("schema", (part) => validateSchema(part, hasStatus));
  if (!shared.subresources) at.on("subresources", validateSubresources);
  if (!shared.additionalPrinterColumns) at.each("additionalPrinterColumns", validateColumn);
  if (!shared.selectableFields && at.value.selectableFields) {
    validateSelectableFields(at.field("selectableFields").as(at.value.selectableFields), schema?.openAPIV3Schema);
  }
}

/** What all versions have in common, at the paths where upstream reports it. */
function validateShared(at: Cursor<DefinitionSpec>, shared: SharedParts): void {
  const [first] = at.value.versions;
  if (!first) return;
  const hasStatus = at.value.versions.some(({ subresources }) => subresources?.status !== undefined);
  if (shared.schema && first.schema) validateSchema(at.under("validation").as(first.schema), hasStatus);
  if (shared.subresources && first.subresources) validateSubresources(at.under("subresources").as(first.subresources));
  const columns = (shared.additionalPrinterColumns && first.additionalPrinterColumns) || [];
  for (const [index, column] of columns.entries()) {
    validateColumn(at.under("additionalPrinterColumns").key(index, column));
  }
  if (shared.selectableFields && first.selectableFields) {
    validateSelectableFields(at.under("selectableFields").as(first.selectableFields), first.schema?.openAPIV3Schema);
  }
}

const maxWarningChars = 256;

function validateDeprecation(at: Cursor<CustomResourceVersion>): void {
  const { deprecated, deprecationWarning: text } = at.value;
  if (text === undefined) return;
  const field = at.field("deprecationWarning");
  if (!deprecated) return field.invalid("can only be set for deprecated versions");
  if (Buffer.byteLength(text) > maxWarningChars) field.invalid("must be <= 256 characters long");
  if (text === "") field.invalid("must not be an empty string");
  const index = text.search(/[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/u);
  if (index < 0) return;
  const where = `non-printable character found at index ${Buffer.byteLength(text.slice(0, index))}`;
  field.invalid(`must only contain printable UTF-8 characters; ${where}`);
}

function requireNames(at: Cursor<CustomResourceNames>): void {
  at.field("plural").required();
  at.field("singular").required();
  at.field("kind").required();
  at.field("listKind").required();
}

function validateNames(at: Cursor<CustomResourceNames>): void {
  const { kind, listKind } = at.value;
  if (at.value.plural) joined(at.field("plural"), dns1035Label);
  if (at.value.singular) joined(at.field("singular"), dns1035Label);
  if (kind) mixedCase(at.field("kind"));
  if (listKind) mixedCase(at.field("listKind"));
  at.each("shortNames", (name) => joined(name, dns1035Label));
  if (kind && kind === listKind) at.field("listKind").invalid("kind and listKind may not be the same");
  at.each("categories", (name) => joined(name, dns1035Label));
}

/** All faults of a name in one. */
function joined(at: Cursor<string | undefined>, rule: Rule): void {
  const faults = rule.all(at.value ?? "");
  if (faults.length > 0) at.invalid(faults.join(","));
}

function mixedCase(at: Cursor<string | undefined>): void {
  const faults = dns1035Label.all((at.value ?? "").toLowerCase());
  if (faults.length > 0) at.invalid(`may have mixed case, but should otherwise match: ${faults.join(",")}`);
}

function validateStoredVersions(at: Cursor<SentDefinition>): void {
  const { spec, status } = at.value;
  const stored = at.field("status").field("storedVersions");
  const { storedVersions } = status;
  if (storedVersions.length === 0) return stored.invalid("must have at least one stored version");
  const known = new Set(spec.versions.map(({ name }) => name));
  const named = new Set(storedVersions);
  for (const { name, storage } of spec.versions) {
    if (storage && !named.has(name)) stored.invalid(`must have the storage version ${name}`);
  }
  for (const [index, name] of storedVersions.entries()) {
    if (known.has(name)) continue;
    stored
      .key(index, name)
      .invalid(
        `missing from spec.versions; ${name} was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in ${name} and removes ${name} from status.storedVersions`,
      );
  }
}

function validateConversion(at: Cursor<CustomResourceConversion>): void {
  const { strategy, webhook } = at.value;
  if (at.field("strategy").required()) at.field("strategy").oneOf(["None", "Webhook"]);
  if (strategy !== "Webhook") {
    const unwanted = "should not be set when strategy is not set to Webhook";
    if (webhook?.clientConfig) at.under("webhookClientConfig").forbidden(unwanted);
    if (webhook?.conversionReviewVersions.length) at.under("conversionReviewVersions").forbidden(unwanted);
    return;
  }
  const client = at.under("webhookClientConfig");
  if (!webhook?.clientConfig) client.missing("required when strategy is set to Webhook");
  else validateClientConfig(client.as(webhook.clientConfig));
  validateReviewVersions(at.under("conversionReviewVersions").as(webhook?.conversionReviewVersions ?? []));
}

function validateReviewVersions(at: Cursor<readonly string[]>): void {
  const { value: versions } = at;
  if (versions.length === 0) return at.missing();
  const seen = new Set<string>();
  for (const [index, version] of versions.entries()) {
    const place = at.key(index, version);
    if (seen.has(version)) place.invalid("duplicate version");
    else place.rule(dns1035Label);
    seen.add(version);
  }
  if (!seen.has("v1") && !seen.has("v1beta1")) at.invalid("must include at least one of v1, v1beta1");
}
