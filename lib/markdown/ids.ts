/** What every id of a rendered text begins with, so that it cannot pass for one of the page that shows the text. */
export const ID_PREFIX = 'user-content-'

export const prefixedId = (id: string): string => (id.startsWith(ID_PREFIX) ? id : `${ID_PREFIX}${id}`)

/**
 * Makes the ids of one text's headings from their source, as Forgejo makes them: `Über *uns*` is `user-content-über-uns`,
 * and the second heading of the same words ends in `-1`.
 *
 * @returns a function whose results are all different
 */
export const createHeadingIds = () => {
  const taken = new Set<string>()
  /** The next number to try for an id, so that a thousand equal headings need no thousand tries each. */
  const numbers = new Map<string, number>()
  return (source: string): string => {
    const words = source.match(/[\p{L}\p{N}_]+/gu)?.join('-') ?? 'heading'
    const base = prefixedId(words.toLowerCase())
    let id = base
    let number = numbers.get(base) ?? 1
    while (taken.has(id)) id = `${base}-${number++}`
    numbers.set(base, number)
    taken.add(id)
    return id
  }
}
