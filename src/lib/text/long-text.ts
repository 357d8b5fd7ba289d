/**
 * Text that is longer than this must not become the key of an object, a Map or a Set. V8 makes every key unique in one
 * table for the whole process, and hashes longer texts by their length alone: each one is then compared with all others
 * of its length. A hundred keys of 17,000 characters took seconds.
 */
export const maxKeyChars = 8192;
