import { invalidMember } from '../errors.ts'

/** Longest body of an issue, a comment or a release, in UTF-16 code units. */
export const BODY_LIMIT = 128 * 1024

/**
 * Longest texts in UTF-16 code units, by record and member. The API's schemas have the same limits; these
 * also hold for records from an embedding host, the command line and an import.
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

/**
 * Checks the members that are present.
 * @throws AllotError invalid, with the name of the member
 */
export const checkTexts = <N extends keyof Limits>(record: N, texts: Texts<N>): void => {
  for (const [member, limit] of Object.entries(TEXT_LIMITS[record])) {
    const text = (texts as Readonly<Record<string, string | undefined>>)[member]
    if (text !== undefined && text.length > limit)
      throw invalidMember(member, `must have at most ${limit} characters`)
  }
}
