/**
 * Whether a pattern covers a name: `*` stands for any characters, `?` for one, and `{main,release/*}` for one
 * of several patterns; braces after the first ones are plain characters. Not a regular expression, which
 * could take exponential time.
 */
export const matchesPattern = (pattern: string, name: string): boolean => {
  const [, head = '', alternatives, tail = ''] = /^([^{]*)\{([^{}]*)\}(.*)$/s.exec(pattern) ?? []
  if (alternatives === undefined) return matchesWildcards(pattern, name)
  return alternatives.split(',').some((one) => matchesWildcards(head + one + tail, name))
}

const matchesWildcards = (pattern: string, name: string): boolean => {
  /** The lengths of the beginnings of the name that the pattern covers so far. */
  let covered = [0]
  for (const char of pattern.split('')) {
    const [first = Number.POSITIVE_INFINITY] = covered
    covered =
      char === '*'
        ? Array.from({ length: Math.max(0, name.length + 1 - first) }, (_, index) => first + index)
        : covered
            .filter((length) => length < name.length && (char === '?' || char === name[length]))
            .map((length) => length + 1)
  }
  return covered.at(-1) === name.length
}
