/** Characters in the longest gram. */
const MAX_LENGTH = 3

/** As names and words are compared: without case. */
export const folded = (text: string): string => text.toLowerCase()

/** Every part of the texts that has at most three characters, the empty one included: what a search is narrowed by. */
export const trigramsOf = (texts: readonly string[]): string[] => {
  const grams = new Set([''])
  for (const text of texts) {
    const characters = [...folded(text)]
    for (let from = 0; from < characters.length; from++)
      for (let length = 1; length <= MAX_LENGTH && from + length <= characters.length; length++)
        grams.add(characters.slice(from, from + length).join(''))
  }
  return [...grams]
}

/** The longest grams of a word: a text that has the word has each of them. One that is the word itself says it all. */
export const queryTrigrams = (word: string): string[] => {
  const characters = [...folded(word)]
  if (characters.length <= MAX_LENGTH) return [characters.join('')]
  return [
    ...new Set(
      characters.slice(MAX_LENGTH - 1).map((_, from) => characters.slice(from, from + MAX_LENGTH).join('')),
    ),
  ]
}

/** Whether a gram of the word is the word. */
export const isTrigram = (word: string): boolean => [...folded(word)].length <= MAX_LENGTH
