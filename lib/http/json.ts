import { invalid } from '../errors.ts'

/** What a text of JSON holds. @throws AllotError invalid for what is none, or holds half a character. */
export const parseJson = (text: string): unknown => {
  const value = parsed(text)
  // UTF-8 cannot hold half of a surrogate pair, but an escape can, and no URL could name it again.
  if (/\\ud[89a-f]/i.test(text)) refuseHalfCharacters(value)
  return value
}

/** A member that is null counts as absent, as Forgejo's clients send them. */
export const withoutNulls = (value: object): Record<string, unknown> =>
  Object.fromEntries(Object.entries(value).filter(([, member]) => member !== null))

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw invalid(`is no JSON: ${(cause as Error).message}`)
  }
}

/** Without recursion: what was parsed may be nested more deeply than the stack goes. */
const refuseHalfCharacters = (whole: unknown): void => {
  const waiting = [whole]
  while (waiting.length > 0) {
    const value = waiting.pop()
    if (typeof value === 'string' && !value.isWellFormed())
      throw invalid('holds half a character (a lone surrogate)')
    if (typeof value === 'object' && value !== null)
      for (const member of Object.values(value)) waiting.push(member)
  }
}
