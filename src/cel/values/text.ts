/** Strings as the language sees them: a sequence of code points. */

import { decoded } from "./decoded.ts";

const surrogate = /[\ud800-\udfff]/;
/** A pattern takes longer than a loop for shorter texts. */
const shortLength = 32;

/** Whether code units and code points are the same here. */
export function isSimple(text: string): boolean {
  if (text.length > shortLength) return decoded.ask(text, hasNoSurrogates);
  for (let index = 0; index < text.length; index++) if ((text.charCodeAt(index) & 0xf800) === 0xd800) return false;
  return true;
}

const hasNoSurrogates = (text: string): boolean => !surrogate.test(text);

export function codePointCount(text: string): number {
  if (isSimple(text)) return text.length;
  let count = 0;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    const isSecondHalf = unit >= 0xdc00 && unit <= 0xdfff && index > 0 && isFirstHalf(text.charCodeAt(index - 1));
    if (!isSecondHalf) count++;
  }
  return count;
}

const isFirstHalf = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff;
/** The code units before a code point. */
export function unitOffset(text: string, codePoints: number): number {
  if (isSimple(text)) return codePoints;
  let offset = 0;
  for (let count = 0; count < codePoints && offset < text.length; count++) {
    offset += (text.codePointAt(offset) ?? 0) > 0xffff ? 2 : 1;
  }
  return offset;
}
