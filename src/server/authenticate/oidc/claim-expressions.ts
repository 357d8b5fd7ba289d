import { type UserInfo } from "#api/exchange.ts";
import { compile, type Program } from "#cel/compile.ts";
import { type Environment } from "#cel/declare/environment.ts";
import { dynType, listType, mapType, stringType, structType, type Type } from "#cel/types/type.ts";
import { ListValue } from "#cel/values/collections.ts";
import { valueFor } from "#cel/values/data.ts";
import { type Value } from "#cel/values/value.ts";
import { kubernetesEnvironment, perCallLimit } from "#cel-kubernetes/environment.ts";
import { Slice } from "#lib/async/turns.ts";
import { type JwtPart } from "#lib/crypto/jwt.ts";
import { type FieldError, type FieldPath, invalidValue } from "#schema/field-error.ts";
import type { JwtAuthenticator } from "./authentication-config.ts";
import { claimValue } from "./claim-values.ts";
import { ClaimError, type MappedClaims } from "./map-claims.ts";

const texts = listType(stringType);
const userFields: Readonly<Record<string, Type>> = {
  username: stringType,
  uid: stringType,
  groups: texts,
  extra: mapType(stringType, texts),
};
const userType = structType("kubernetes.UserInfo", {
  field(name) {
    const type = Object.hasOwn(userFields, name) ? userFields[name] : undefined;
    return type && { type };
  },
});
const environments = {
  claims: kubernetesEnvironment().extend({ variables: { claims: mapType(stringType, dynType) } }),
  user: kubernetesEnvironment().extend({ variables: { user: userType } }),
} satisfies Record<string, Environment>;

/** An expression of an issuer, and where it is in the file. */
interface Place {
  readonly source: string | undefined;
  readonly at: (root: FieldPath) => FieldPath;
  readonly about: keyof typeof environments;
  /** Rules have to be true; of mappings the type shows when they are evaluated. */
  readonly isRule: boolean;
}

function* placesOf({ claimMappings, claimValidationRules = [], userValidationRules = [] }: JwtAuthenticator) {
  const of = (about: Place["about"], isRule: boolean, source: string | undefined, at: Place["at"]): Place[] =>
    source ? [{ source, at, about, isRule }] : [];
  const { username, groups, uid, extra = [] } = claimMappings;
  for (const [index, { expression }] of claimValidationRules.entries()) {
    yield* of("claims", true, expression, (at) => at.child("claimValidationRules").index(index).child("expression"));
  }
  for (const [name, { expression }] of Object.entries({ username, groups, uid })) {
    yield* of("claims", false, expression, (at) => at.child("claimMappings", name, "expression"));
  }
  for (const [index, { valueExpression }] of extra.entries()) {
    yield* of("claims", false, valueExpression, (at) =>
      at.child("claimMappings", "extra").index(index).child("valueExpression"),
    );
  }
  for (const [index, { expression }] of userValidationRules.entries()) {
    yield* of("user", true, expression, (at) => at.child("userValidationRules").index(index).child("expression"));
  }
}

/** Every expression of an issuer that cannot be used. */
export function expressionFaults(config: JwtAuthenticator, root: FieldPath): FieldError[] {
  const faults: FieldError[] = [];
  const programs: { readonly place: Place; readonly program: Program }[] = [];
  for (const place of placesOf(config)) {
    const { source = "", at, about, isRule } = place;
    const { program, message } = compiled(about, source);
    if (!program) faults.push(invalidValue(at(root), source, `compilation failed: ${message}`));
    else if (isRule && program.type.kind !== "bool")
      faults.push(invalidValue(at(root), source, "must evaluate to bool"));
    else programs.push({ place, program });
  }
  return [...faults, ...emailFaults(config, root, programs)];
}

/** Somebody could claim an address that is not theirs. */
function emailFaults(
  { claimMappings: { username, groups, uid } }: JwtAuthenticator,
  root: FieldPath,
  programs: readonly { readonly place: Place; readonly program: Program }[],
): FieldError[] {
  const source = username.expression ?? "";
  const reads = (name: string, field: string) =>
    programs.some(({ place, program }) => place.source === name && program.reads("claims", field));
  if (!source || !reads(source, "email")) return [];
  const others = new Set([groups.expression, uid.expression]);
  const isVerified = programs.some(
    ({ place, program }) =>
      place.about === "claims" &&
      (place.source === source || !others.has(place.source)) &&
      program.reads("claims", "email_verified"),
  );
  if (isVerified) return [];
  const places =
    "claimMappings.username.expression or claimMappings.extra[*].valueExpression or claimValidationRules[*].expression";
  const why = `claims.email_verified must be used in ${places} when claims.email is used in claimMappings.username.expression`;
  return [invalidValue(root.child("claimMappings", "username", "expression"), source, why)];
}

/** Expressions come from the administrator's file, and there are only a few versions of it. */
const known = new Map<string, ReturnType<typeof compile>>();
const maxKnown = 1000;

function compiled(about: Place["about"], source: string): { program?: Program | undefined; message?: string } {
  const key = `${about} ${source}`;
  let result = known.get(key);
  if (!result) {
    result = compile(environments[about], source);
    if (known.size >= maxKnown) known.clear();
    known.set(key, result);
  }
  return result;
}

/** What the mappings make of the claims. In turns, because a token decides how long they take. */
export async function evaluateMappings({ claimMappings }: JwtAuthenticator, claims: JwtPart): Promise<MappedClaims> {
  const { username, groups, uid, extra = [] } = claimMappings;
  const evaluate = evaluator("claims", claimValue(claims));
  const name = username.expression ? await nameBy(evaluate, username.expression) : undefined;
  const asGroups = groups.expression
    ? textsOf(await evaluate(groups.expression, "error evaluating group claim expression: "), "group")
    : undefined;
  const asUid = uid.expression
    ? textOf(await evaluate(uid.expression, "error evaluating uid claim expression: "), "uid")
    : undefined;
  const extras: Record<string, readonly string[]> = {};
  for (const { key = "", valueExpression = "" } of extra) {
    const values = textsOf(await evaluate(valueExpression, ""), "extra", `${valueExpression}: `);
    if (values.length > 0) extras[key] = values;
  }
  return {
    ...(name === undefined ? {} : { name }),
    ...(asGroups ? { groups: asGroups } : {}),
    ...(asUid === undefined ? {} : { uid: asUid }),
    extra: extras,
  };
}

async function nameBy(evaluate: Evaluate, expression: string): Promise<string> {
  const name = textOf(await evaluate(expression, "error evaluating username claim expression: "), "username");
  if (name === "") throw new ClaimError("oidc: empty username via CEL expression is not allowed");
  return name;
}

/** Throws if the claims or the user break a rule of the issuer. */
export async function checkRules(config: JwtAuthenticator, claims: JwtPart, user: UserInfo): Promise<void> {
  const { claimValidationRules = [], userValidationRules = [] } = config;
  const { name: username, uid = "", groups, extra = {} } = user;
  const facts = valueFor(userType, { username, uid, groups, extra });
  const sets = [
    ["claim validation expression", evaluator("claims", claimValue(claims)), claimValidationRules],
    ["user info validation rule", evaluator("user", facts), userValidationRules],
  ] as const;
  for (const [what, evaluate, rules] of sets) {
    for (const { expression, message = "" } of rules) {
      if (!expression) continue;
      const context = `error evaluating ${what}: `;
      if ((await evaluate(expression, context)) === true) continue;
      throw new ClaimError(`oidc: ${context}validation expression '${expression}' failed: ${message}`);
    }
  }
}

type Evaluate = (source: string, context: string) => Promise<Value>;

function evaluator(about: Place["about"], value: Value): Evaluate {
  const slice = new Slice();
  const variables = new Map([[about as string, value]]);
  return async (source, context) => {
    if (slice.isOver) await slice.rest();
    const { program, message } = compiled(about, source);
    if (!program) throw new ClaimError(`oidc: ${context}${message}`);
    const outcome = program.evaluate(variables, perCallLimit);
    if (outcome.error === undefined) return outcome.value;
    throw new ClaimError(`oidc: ${context}expression '${source}' resulted in error: ${outcome.error}`);
  };
}

function textOf(value: Value, what: string): string {
  if (typeof value === "string") return value;
  throw new ClaimError(
    `oidc: error evaluating ${what} claim expression: ${what} claim expression must return a string`,
  );
}

/** An expression can make far more texts than a token has. */
const maxTexts = 10_000;

/** A text or a list of texts. Empty ones do not count. */
function textsOf(value: Value, what: string, source = ""): string[] {
  if (value === null) return [];
  const list = typeof value === "string" ? [value] : value instanceof ListValue ? value : undefined;
  const isLong = list !== undefined && list.length > maxTexts;
  const items = list && !isLong ? [...list] : undefined;
  const found = items?.filter((item) => typeof item === "string");
  if (found && found.length === items?.length) return found.filter((text) => text !== "");
  const why = isLong
    ? `expression returned more than ${maxTexts} strings`
    : "expression must return a string or a list of strings";
  throw new ClaimError(`oidc: error evaluating ${what} claim expression: ${source}${why}`);
}
