import { type Place, TemplateError } from "./faults.ts";
import type { TemplateFunction } from "./function.ts";
import type { Token } from "./lex.ts";
import type { Call, Operand, Pipeline } from "./tree.ts";

/** The tokens of one action. */
export interface Line {
  readonly tokens: readonly Token[];
  readonly place: Place;
  position: number;
  depth: number;
  knows(variable: string): boolean;
  functionOf(name: string): TemplateFunction | undefined;
}

const maxDepth = 50;

/** A pipeline to the end of the action: `$a, $b := x | f`. */
export function parsePipeline(line: Line, maxVariables: number): Pipeline {
  const { variables, isAssignment } = parseVariables(line, maxVariables);
  const pipeline = parseCommands(line);
  const rest = peek(line);
  if (rest) throw new TemplateError(`unexpected ${JSON.stringify(rest.text)}`, rest);
  return { ...pipeline, variables, isAssignment };
}

const peek = (line: Line): Token | undefined => line.tokens[line.position];
const isSign = (token: Token | undefined, text: string): boolean => token?.type === "sign" && token.text === text;

function take(line: Line, sign: string): boolean {
  if (!isSign(peek(line), sign)) return false;
  line.position++;
  return true;
}

function parseVariables(line: Line, most: number): Pick<Pipeline, "variables" | "isAssignment"> {
  const names: Token[] = [];
  const begin = line.position;
  for (let token = peek(line); token?.type === "variable"; token = peek(line)) {
    names.push(token);
    line.position++;
    if (!take(line, ",")) break;
  }
  const isDeclaration = names.length > 0 && take(line, ":=");
  const isAssignment = names.length > 0 && !isDeclaration && take(line, "=");
  if (!isDeclaration && !isAssignment) {
    line.position = begin;
    return { variables: [], isAssignment: false };
  }
  if (names.length > most) throw new TemplateError("too many variables", line.place);
  const unknown = names.find(({ text }) => text === "" || (isAssignment && !line.knows(text)));
  if (unknown) throw new TemplateError(`undefined variable $${unknown.text}`, unknown);
  return { variables: names.map(({ text }) => text), isAssignment };
}

function parseCommands(line: Line): Pipeline {
  if (++line.depth > maxDepth) throw new TemplateError("is nested too deeply", line.place);
  const place = peek(line) ?? line.place;
  const first = parseCommand(line);
  const rest: Call[] = [];
  while (take(line, "|")) rest.push(parseFilter(line));
  line.depth--;
  return { line: place.line, column: place.column, first, rest, variables: [], isAssignment: false };
}

/** A function with its parameters, or a single operand. */
function parseCommand(line: Line): Operand {
  const token = peek(line);
  if (!token) throw new TemplateError("a value is missing", line.place);
  if (isFunction(token)) {
    const call = parseCall(line, 0);
    return { type: "call", call, line: call.line, column: call.column };
  }
  const operand = parseOperand(line);
  const next = peek(line);
  if (next && !isSign(next, "|") && !isSign(next, ")")) {
    throw new TemplateError("only a function can have parameters", next);
  }
  return operand;
}

/** What stands after `|` gets the value before it as one more parameter. */
function parseFilter(line: Line): Call {
  const token = peek(line);
  if (!token || !isFunction(token)) throw new TemplateError("a function must follow |", token ?? line.place);
  return parseCall(line, 1);
}

const isFunction = ({ type, text }: Token): boolean => type === "name" && !["true", "false", "nil"].includes(text);

function parseCall(line: Line, piped: number): Call {
  const token = line.tokens[line.position++];
  if (!token) throw new TemplateError("a function is missing", line.place);
  const parameters: Operand[] = [];
  for (let next = peek(line); next && !isSign(next, "|") && !isSign(next, ")"); next = peek(line)) {
    parameters.push(parseOperand(line));
  }
  return callOf(line, token, { parameters, piped });
}

function callOf(
  line: Line,
  token: Token,
  given: { readonly parameters: readonly Operand[]; readonly piped: number },
): Call {
  const { parameters, piped } = given;
  const found = line.functionOf(token.text);
  if (!found) throw new TemplateError(`function ${JSON.stringify(token.text)} is not supported`, token);
  const count = parameters.length + piped;
  if (count < found.least || count > found.most) {
    const range = found.least === found.most ? found.least : `${found.least} to ${found.most}`;
    const wanted = found.most === Number.POSITIVE_INFINITY ? `at least ${found.least}` : range;
    throw new TemplateError(`${token.text} has ${count} parameters and needs ${wanted}`, token);
  }
  return { name: token.text, function: found, parameters, line: token.line, column: token.column };
}

/** A value with the fields that follow it without a space: `$pod.spec.nodeName`, `(index . 0).name`. */
function parseOperand(line: Line): Operand {
  let operand = parseTerm(line);
  for (let next = peek(line); next?.type === "field" && !next.isApart; next = peek(line)) {
    operand = { type: "field", of: operand, name: next.text, line: next.line, column: next.column };
    line.position++;
  }
  return operand;
}

function parseTerm(line: Line): Operand {
  const token = line.tokens[line.position++];
  if (!token) throw new TemplateError("a value is missing", line.place);
  const place = { line: token.line, column: token.column };
  switch (token.type) {
    case "text":
      return { ...place, type: "literal", value: token.text };
    case "number":
      return { ...place, type: "literal", value: numberOf(token) };
    case "field":
      return { ...place, type: "field", of: { ...place, type: "dot" }, name: token.text };
    case "variable":
      if (!line.knows(token.text)) throw new TemplateError(`undefined variable $${token.text}`, token);
      return { ...place, type: "variable", name: token.text };
    case "name":
      return parseName(line, token);
    default:
      return parseSign(line, token);
  }
}

function parseName(line: Line, token: Token): Operand {
  const place = { line: token.line, column: token.column };
  if (token.text === "nil") return { ...place, type: "literal", value: null };
  if (token.text === "true" || token.text === "false") {
    return { ...place, type: "literal", value: token.text === "true" };
  }
  // As a parameter, a function stands alone: `printf "%s" Now`.
  return { ...place, type: "call", call: callOf(line, token, { parameters: [], piped: 0 }) };
}

function parseSign(line: Line, token: Token): Operand {
  const place = { line: token.line, column: token.column };
  if (token.text === ".") return { ...place, type: "dot" };
  if (token.text !== "(") throw new TemplateError(`unexpected ${JSON.stringify(token.text)}`, token);
  const pipeline = parseCommands(line);
  if (!take(line, ")")) throw new TemplateError("( without )", token);
  return { ...place, type: "pipeline", pipeline };
}

function numberOf(token: Token): number {
  const digits = token.text.replaceAll("_", "");
  const isNegative = digits.startsWith("-");
  const size = Number(digits.replace(/^[-+]/, ""));
  if (!Number.isFinite(size)) throw new TemplateError(`wrong number ${token.text}`, token);
  return isNegative ? -size : size;
}
