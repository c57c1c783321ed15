import { invalid } from '../errors.ts'

/** Of a text that people write: an issue, a comment, the notes of a release. */
export const BODY_LIMIT = 128 * 1024

/**
 * Longest texts in UTF-16 code units, by record and member. The API has the same limits in its declarations; these hold for
 * every way that a record comes in: an embedding host, the command line, an import.
 */
export const TEXT_LIMITS = {
  account: { fullName: 100, email: 254, website: 255, description: 255, location: 50 },
  repository: { description: 2048, website: 1024, defaultBranch: 100 },
  issue: { title: 255, body: BODY_LIMIT },
  comment: { body: BODY_LIMIT },
  release: { tag: 255, target: 255, name: 255, body: BODY_LIMIT },
  sshKey: { title: 255, key: 16 * 1024 },
} as const

type Limits = typeof TEXT_LIMITS
type Texts<N extends keyof Limits> = { readonly [Member in keyof Limits[N]]?: string | undefined }

/** Members that are absent are not checked. @throws AllotError invalid naming the member. */
export const checkTexts = <N extends keyof Limits>(record: N, given: Texts<N>): void => {
  for (const [member, limit] of Object.entries(TEXT_LIMITS[record])) {
    const text = (given as Readonly<Record<string, string | undefined>>)[member]
    if (text !== undefined && text.length > limit)
      throw invalid(`${member}: must have at most ${limit} characters`)
  }
}

export const checkIssue = (given: { title?: string | undefined; body?: string | undefined }): void => {
  if (given.title === '') throw invalid('title: must not be empty')
  checkTexts('issue', given)
}

/** @throws AllotError invalid for a text that is not empty and not an email address. */
export const checkEmail = (email: string): void => {
  if (!/^$|^[^\s@<>]+@[^\s@<>]+$/.test(email)) throw invalid('email: expected an email address')
}
