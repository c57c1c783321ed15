/** Distinct names that are looked up for one text; the names after them stay text. */
const MOST_NAMES = 50
/** Characters of a text that are looked through for names. */
const MOST_CHARACTERS = 65_536

const NAME = /@([A-Za-z0-9][A-Za-z0-9._-]{0,39})/g

/**
 * The names that a text may mention, lower case. Bounded and linear, so that the thread that serves requests may do it;
 * whether a name stands where it is a mention is found out by the parser, in the worker.
 */
export const namesIn = (text: string): string[] => {
  const names = new Set<string>()
  for (const [, name] of text.slice(0, MOST_CHARACTERS).matchAll(NAME)) {
    // A dot that ends a sentence is not the name's.
    names.add(name!.replace(/[._-]{1,39}$/, '').toLowerCase())
    if (names.size === MOST_NAMES) break
  }
  return [...names]
}
