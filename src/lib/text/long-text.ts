/**
 * Longer text must not become the key of an object, a Map or a Set. V8 interns all keys in one table of the process,
 * and hashes longer text by its length alone, so that each is compared with all others of its length. A hundred keys of
 * 17,000 characters took seconds.
 */
export const maxKeyChars = 8192;
