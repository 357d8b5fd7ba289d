import { maxKeyChars } from "#lib/text/long-text.ts";
import { badRequest } from "../status.ts";

/** One condition on one field; an absent field counts as empty. */
export interface FieldTerm {
  readonly path: string;
  readonly operator: "=" | "!=";
  readonly value: string;
}

export const matchesFields = (terms: readonly FieldTerm[], getter: (path: string) => string | undefined): boolean =>
  terms.every(({ path, operator, value }) => ((getter(path) ?? "") === value) === (operator === "="));

/** The value that a field must have, if the selector asks for one: what an index is looked up by. */
export const requiredField = (terms: readonly FieldTerm[], path: string): string | undefined =>
  terms.find((term) => term.path === path && term.operator === "=")?.value;

/** Reads the selector of a query string: `a=b,c!=d`, with `\` before a comma, equals sign or backslash in a value. */
export function parseFieldSelector(text: string): FieldTerm[] {
  if (text.length > maxKeyChars) throw badRequest(`the field selector is longer than ${maxKeyChars} characters`);
  const terms: FieldTerm[] = [];
  for (const part of splitTerms(text).sort()) {
    if (part === "") continue;
    const [, path, sign, value] = /^(.*?)(!=|==|=)(.*)$/s.exec(part) ?? [];
    if (path === undefined || sign === undefined || value === undefined) {
      throw badRequest(`invalid selector: '${text}'; can't understand '${part}'`);
    }
    terms.push({ path, operator: sign === "!=" ? "!=" : "=", value: unescaped(value) });
  }
  return terms;
}

/** What a value looks like in a selector. */
export const escapeFieldValue = (value: string): string => value.replace(/[\\,=]/g, "\\$&");

function splitTerms(text: string): string[] {
  const parts: string[] = [];
  let start = 0;
  for (let index = 0; index < text.length; index++) {
    if (text[index] === "\\") {
      index++;
    } else if (text[index] === ",") {
      parts.push(text.slice(start, index));
      start = index + 1;
    }
  }
  parts.push(text.slice(start));
  return parts;
}

function unescaped(value: string): string {
  if (!/[\\,=]/.test(value)) return value;
  return value.replace(/\\(.?)|[,=]/gsu, (seen, escapee: string | undefined) => {
    if (escapee === undefined) {
      throw badRequest(`invalid field selector: unescaped character in value: ${seen.codePointAt(0)}`);
    }
    if (escapee === "" || !"\\,=".includes(escapee)) {
      throw badRequest(`invalid field selector: invalid escape sequence: ${seen}`);
    }
    return escapee;
  });
}
