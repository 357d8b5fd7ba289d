import { dns1123Label, dns1123Subdomain } from "#api/meta/names.ts";
import { type FunctionDeclaration, type Library, memberOverload } from "#cel/declare/function.ts";
import { boolType, stringType, structType, type Type } from "#cel/types/type.ts";
import { CelError, OpaqueValue, type Value } from "#cel/values/value.ts";

/** What an expression asks: may a user do this? Either a path or a resource. */
export interface AccessQuestion {
  readonly verb: string;
  /** Whose access is asked for, if not the caller's. */
  readonly serviceAccount?: { readonly namespace: string; readonly name: string };
  readonly path?: string;
  readonly resource?: ResourceQuestion;
}

export interface ResourceQuestion {
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  /** As written: whoever answers parses them, and leaves out what does not parse. */
  readonly fieldSelector: string;
  readonly labelSelector: string;
}

export interface AccessAnswer {
  readonly allowed: boolean;
  readonly reason?: string;
  readonly error?: string;
}

/** Answers the questions of one evaluation. It must answer at once, because expressions do not wait. */
export interface AccessCheck {
  check(question: AccessQuestion): AccessAnswer;
}

const receiver = (name: string): Type => structType(`kubernetes.authorization.${name}`, { field: () => undefined });
export const authorizerType = receiver("Authorizer");
export const resourceCheckType = receiver("ResourceCheck");
const pathCheckType = receiver("PathCheck");
const groupCheckType = receiver("GroupCheck");
const decisionType = receiver("Decision");

/** A question that is being put together, or its answer. */
class AccessValue<T> extends OpaqueValue {
  readonly type: Type;
  readonly content: T;
  constructor(type: Type, content: T) {
    super();
    this.type = type;
    this.content = content;
  }
  equals(other: OpaqueValue): boolean {
    return other === this;
  }
}

interface Asker {
  readonly access: AccessCheck;
  readonly serviceAccount?: { readonly namespace: string; readonly name: string };
}
type Group = Asker & { readonly group: string };
type Path = Asker & { readonly path: string };
type Resource = Asker & { readonly question: ResourceQuestion };

/** The variable `authorizer`. */
export const authorizerValue = (access: AccessCheck): Value => new AccessValue<Asker>(authorizerType, { access });

/** The variable `authorizer.requestResource`: a question about the object of the request. */
export function requestResourceValue(access: AccessCheck, question: ResourceQuestion): Value {
  return new AccessValue<Resource>(resourceCheckType, { access, question });
}

const contentOf = <T>(value: Value | undefined): T => (value as AccessValue<T>).content;
const declare = (name: string, ...overloads: FunctionDeclaration["overloads"]): FunctionDeclaration => ({
  name,
  overloads,
});

/** A function that sets one part of a question about a resource. */
function part(name: keyof ResourceQuestion, id: string): FunctionDeclaration {
  return declare(
    name,
    memberOverload(id, [resourceCheckType, stringType], resourceCheckType, (_, check, text) => {
      const content = contentOf<Resource>(check);
      const question = { ...content.question, [name]: text as string };
      return new AccessValue<Resource>(resourceCheckType, { ...content, question });
    }),
  );
}

const nothing = { subresource: "", namespace: "", name: "", fieldSelector: "", labelSelector: "" };

function resourceOf(check: Value | undefined, resource: string): Value {
  if (resource.trim() === "") return new CelError("resource must not be empty");
  const { group, ...asker } = contentOf<Group>(check);
  return new AccessValue<Resource>(resourceCheckType, { ...asker, question: { ...nothing, group, resource } });
}

function pathOf(authorizer: Value | undefined, path: string): Value {
  if (path.trim() === "") return new CelError("path must not be empty");
  return new AccessValue<Path>(pathCheckType, { ...contentOf<Asker>(authorizer), path });
}

function serviceAccountOf(authorizer: Value | undefined, namespace: string, name: string): Value {
  if (dns1123Subdomain(name) !== undefined) return new CelError("Invalid service account name");
  if (dns1123Label(namespace) !== undefined) return new CelError("Invalid service account namespace");
  const { access } = contentOf<Asker>(authorizer);
  return new AccessValue<Asker>(authorizerType, { access, serviceAccount: { namespace, name } });
}

function decide(
  { access, serviceAccount }: Asker,
  question: Pick<AccessQuestion, "path" | "resource" | "verb">,
): Value {
  const answer = access.check({ ...question, ...(serviceAccount && { serviceAccount }) });
  return new AccessValue<AccessAnswer>(decisionType, answer);
}

const answered = (name: string, type: Type, read: (answer: AccessAnswer) => Value): FunctionDeclaration =>
  declare(
    name,
    memberOverload(`decision_${name}`, [decisionType], type, (_, value) => read(contentOf<AccessAnswer>(value))),
  );

export const authorizerLibrary: Library = {
  types: [authorizerType, pathCheckType, groupCheckType, resourceCheckType, decisionType],
  functions: [
    declare(
      "path",
      memberOverload("authorizer_path", [authorizerType, stringType], pathCheckType, (_, asker, path) =>
        pathOf(asker, path as string),
      ),
    ),
    declare(
      "group",
      memberOverload(
        "authorizer_group",
        [authorizerType, stringType],
        groupCheckType,
        (_, asker, group) =>
          new AccessValue<Group>(groupCheckType, { ...contentOf<Asker>(asker), group: group as string }),
      ),
    ),
    declare(
      "serviceAccount",
      memberOverload(
        "authorizer_serviceaccount",
        [authorizerType, stringType, stringType],
        authorizerType,
        (_, asker, namespace, name) => serviceAccountOf(asker, namespace as string, name as string),
      ),
    ),
    declare(
      "resource",
      memberOverload("groupcheck_resource", [groupCheckType, stringType], resourceCheckType, (_, group, name) =>
        resourceOf(group, name as string),
      ),
    ),
    part("subresource", "resourcecheck_subresource"),
    part("namespace", "resourcecheck_namespace"),
    part("name", "resourcecheck_name"),
    part("fieldSelector", "authorizer_fieldselector"),
    part("labelSelector", "authorizer_labelselector"),
    declare(
      "check",
      memberOverload("pathcheck_check", [pathCheckType, stringType], decisionType, (_, check, verb) => {
        const content = contentOf<Path>(check);
        return decide(content, { path: content.path, verb: verb as string });
      }),
      memberOverload("resourcecheck_check", [resourceCheckType, stringType], decisionType, (_, check, verb) => {
        const content = contentOf<Resource>(check);
        return decide(content, { resource: content.question, verb: verb as string });
      }),
    ),
    answered("allowed", boolType, ({ allowed }) => allowed),
    answered("reason", stringType, ({ reason = "" }) => reason),
    answered("errored", boolType, ({ error }) => error !== undefined),
    answered("error", stringType, ({ error = "" }) => error),
  ],
};
