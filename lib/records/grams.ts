/** Characters in the longest gram. */
const LONGEST = 3

/** As names and words are compared: without case. */
export const folded = (text: string): string => text.toLowerCase()

/** Every part of the texts that has at most three characters, the empty one included: what a search is narrowed by. */
export const gramsOf = (texts: readonly string[]): string[] => {
  const grams = new Set([''])
  for (const text of texts) {
    const characters = [...folded(text)]
    for (let from = 0; from < characters.length; from++)
      for (let length = 1; length <= LONGEST && from + length <= characters.length; length++)
        grams.add(characters.slice(from, from + length).join(''))
  }
  return [...grams]
}

/** The longest grams of a word: a text that has the word has each of them. One that is the word itself says it all. */
export const gramsToFind = (word: string): string[] => {
  const characters = [...folded(word)]
  if (characters.length <= LONGEST) return [characters.join('')]
  return [
    ...new Set(
      characters.slice(LONGEST - 1).map((_, from) => characters.slice(from, from + LONGEST).join('')),
    ),
  ]
}

/** Whether a gram of the word is the word. */
export const isGram = (word: string): boolean => [...folded(word)].length <= LONGEST
