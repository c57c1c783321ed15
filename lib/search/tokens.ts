/**
 * The form in which texts are indexed and compared: without case. That of a part of a text is a part of that
 * of the text, so a final sigma, which depends on what follows it, is folded like any other.
 */
export const foldCase = (text: string): string => text.toLowerCase().replaceAll('ς', 'σ')

/** Characters of the longest token; shorter ones are indexed too, so that short words are found. */
export const TRIGRAM_LENGTH = 3

/**
 * Every substring of the texts of at most three characters, including the empty one, which every text
 * contains.
 */
export const trigramsOf = (texts: readonly string[]): string[] => {
  const trigrams = new Set([''])
  for (const text of texts) {
    const characters = [...foldCase(text)]
    for (let start = 0; start < characters.length; start++)
      for (let length = 1; length <= TRIGRAM_LENGTH && start + length <= characters.length; length++)
        trigrams.add(characters.slice(start, start + length).join(''))
  }
  return [...trigrams]
}

/** The longest trigrams of a word: a text that contains the word contains each of them. */
export const queryTrigrams = (word: string): string[] => {
  const characters = [...foldCase(word)]
  if (characters.length <= TRIGRAM_LENGTH) return [characters.join('')]
  const starts = characters.slice(TRIGRAM_LENGTH - 1)
  return [...new Set(starts.map((_, start) => characters.slice(start, start + TRIGRAM_LENGTH).join('')))]
}

/** Characters of a word that are indexed; two words that differ only after them are the same token. */
const MAX_WORD_LENGTH = 64

/** The different words of a text, without case: runs of letters, marks and digits. */
export const tokenize = (text: string): string[] => {
  const words = foldCase(text).match(/[\p{L}\p{M}\p{N}]+/gu) ?? []
  return [...new Set(words.map((word) => [...word].slice(0, MAX_WORD_LENGTH).join('')))]
}
