/**
 * Data is converted where it is read, and lists and maps know no evaluation. So what they did is noted here, for the one
 * evaluation that runs: evaluations do not wait.
 */
class Decoded {
  /** How much was converted, by all evaluations together. An evaluation compares what it is with what it was. */
  characters = 0;
  #keys = new Map<object, readonly string[]>();
  #asked = "";
  #answer = true;

  /** The keys of an object. Those of a large one take long to list, and an expression may ask for them again and again. */
  keysOf(data: Readonly<Record<string, unknown>>): readonly string[] {
    const known = this.#keys.get(data);
    if (known) {
      this.characters += listWork;
      return known;
    }
    const keys = Object.keys(data);
    this.characters += keyWork * keys.length;
    if (keys.length >= manyKeys) this.#keys.set(data, keys);
    return keys;
  }

  /** Whether something is true of a text. Functions ask the same of a long one several times. */
  ask(text: string, isTrue: (text: string) => boolean): boolean {
    if (text.length < longText) return isTrue(text);
    if (this.#asked !== text) [this.#asked, this.#answer] = [text, isTrue(text)];
    return this.#answer;
  }

  /** Must be called when an evaluation starts: the data may have changed since the last one. */
  forget(): void {
    if (this.#keys.size > 0) this.#keys.clear();
    this.#asked = "";
  }
}

/**
 * Listing a key counts as decoding so many characters. It takes half as long: the keys of a map can only be counted by
 * listing them, so the budget must leave room for the map that exceeds it.
 */
const keyWork = 450;
/** The same for a list that is known. */
const listWork = 200;
const manyKeys = 50;
const longText = 1000;

export const decoded = new Decoded();
