import { own } from "../data/own.ts";
import { type Place, TemplateError } from "./faults.ts";
import type { TemplateFunctions } from "./function.ts";
import { type Piece, piecesOf, type Token } from "./lex.ts";
import { type Line, parsePipeline } from "./parse-pipeline.ts";
import type { Branch, Pipeline, Statement } from "./tree.ts";

const maxLength = 200_000;
const maxDepth = 50;
const start: Place = { line: 1, column: 1 };

/** Reads a template. Functions and variables that do not exist are errors, and so is what is not supported. */
export function parseTemplate(source: string, functions: TemplateFunctions): readonly Statement[] {
  if (source.length > maxLength) throw new TemplateError(`is longer than ${maxLength} characters`, start);
  const scan: Scan = { pieces: piecesOf(source), position: 0, functions, variables: [""], depth: 0, loops: 0 };
  const { body, end } = parseBody(scan);
  if (end) throw new TemplateError(`unexpected ${end.word}`, end.place);
  return body;
}

interface Scan {
  readonly pieces: readonly Piece[];
  readonly functions: TemplateFunctions;
  /** The names of the variables that exist here. */
  readonly variables: string[];
  position: number;
  depth: number;
  /** How many loops there are around. */
  loops: number;
}

/** What ended a body: `else`, with what follows it, or `end`. */
interface End {
  readonly word: "else" | "end";
  readonly rest: readonly Token[];
  readonly place: Place;
}

function parseBody(scan: Scan): { readonly body: readonly Statement[]; readonly end: End | undefined } {
  const body: Statement[] = [];
  for (;;) {
    const piece = scan.pieces[scan.position++];
    if (!piece) return { body, end: undefined };
    if (piece.type === "copy") {
      if (piece.text !== "") body.push(piece);
      continue;
    }
    const [first, ...rest] = piece.tokens;
    const place = { line: piece.line, column: piece.column };
    const word = first?.type === "name" ? first.text : "";
    if (word === "end" || word === "else") return { body, end: { word, rest, place } };
    body.push(parseAction(scan, { word, rest, place, tokens: piece.tokens }));
  }
}

interface Action {
  readonly word: string;
  readonly rest: readonly Token[];
  readonly tokens: readonly Token[];
  readonly place: Place;
}

const unsupportedWords = ["define", "template", "block"];

function parseAction(scan: Scan, { word, rest, tokens, place }: Action): Statement {
  if (word === "if" || word === "with" || word === "range")
    return { ...place, ...parseBranch(scan, word, rest, place) };
  if (unsupportedWords.includes(word)) throw new TemplateError(`${word} is not supported`, place);
  if (word === "break" || word === "continue") {
    if (rest.length > 0) throw new TemplateError(`nothing can follow ${word}`, place);
    if (scan.loops === 0) throw new TemplateError(`${word} outside of range`, place);
    return { ...place, type: word };
  }
  return { ...place, type: "print", pipeline: pipelineOf(scan, tokens, place, 1) };
}

function pipelineOf(scan: Scan, tokens: readonly Token[], place: Place, maxVariables: number): Pipeline {
  const line: Line = {
    tokens,
    position: 0,
    place,
    depth: 0,
    knows: (name) => scan.variables.includes(name),
    functionOf: (name) => own(scan.functions, name),
  };
  const pipeline = parsePipeline(line, maxVariables);
  if (!pipeline.isAssignment) scan.variables.push(...pipeline.variables);
  return pipeline;
}

function parseBranch(scan: Scan, type: Branch["type"], tokens: readonly Token[], place: Place): Branch {
  if (++scan.depth > maxDepth) throw new TemplateError("is nested too deeply", place);
  const outside = scan.variables.length;
  const pipeline = pipelineOf(scan, tokens, place, type === "range" ? 2 : 1);
  const inside = scan.variables.length;
  if (type === "range") scan.loops++;
  const { body, end } = parseBody(scan);
  if (type === "range") scan.loops--;
  if (!end) throw new TemplateError(`${type} without end`, place);
  scan.variables.length = inside;
  const otherwise = end.word === "else" ? parseElse(scan, type, end) : [];
  scan.variables.length = outside;
  scan.depth--;
  return { type, pipeline, body, otherwise };
}

/** `{{ else }} … {{ end }}`, or `{{ else if … }}`, which needs no end of its own. */
function parseElse(scan: Scan, type: Branch["type"], { rest, place }: End): readonly Statement[] {
  const [word, ...condition] = rest;
  if (word) {
    if (word.type !== "name" || word.text !== type || type === "range") {
      throw new TemplateError(`unexpected ${JSON.stringify(word.text)} after else`, word);
    }
    return [{ ...place, ...parseBranch(scan, type, condition, place) }];
  }
  const { body, end } = parseBody(scan);
  if (end?.word !== "end") throw new TemplateError(end ? "a second else" : "else without end", end?.place ?? place);
  if (end.rest.length > 0) throw new TemplateError("nothing can follow end", end.place);
  return body;
}
