/** Schemas and formats of fields that several resources share. */
import * as v from 'valibot'
import { timestamp } from '../clock.ts'
import { Visibility } from '../records/schema/index.ts'
import { BODY_LIMIT, TEXT_LIMITS } from '../records/text-limits.ts'
import type { RepositoryName } from '../repositories/names.ts'

export { timestamp }

/**
 * A schema with an example for the OpenAPI document, which composes those of bodies from those of their
 * members.
 */
export const example = <const S extends v.GenericSchema>(schema: S, value: v.InferInput<S>) =>
  v.pipe(schema, v.examples([value]))

/** Text with an example for the OpenAPI document. */
export const text = (value: string) => example(v.string(), value)
/** A URL of the service, with an example of its path. */
export const link = (path: string) => text(`https://code.example.org${path}`)
/** A number with an example for the OpenAPI document. */
export const number = (value: number) => example(v.number(), value)

/** A parameter with its description for the OpenAPI document. */
export const parameter = <const S extends v.GenericSchema>(schema: S, description: string) =>
  v.pipe(schema, v.description(description))

/** A query parameter that may be absent. */
export const optionalQuery = <const S extends v.GenericSchema>(schema: S, description: string) =>
  v.optional(parameter(schema, description))

/** A time that may not exist. */
export const timeOrNull = (seconds: number | null | undefined) =>
  seconds == null ? null : timestamp(seconds)

/** A time of a response, as {@link timestamp} formats it. */
export const Time = text('2026-11-21T04:09:00Z')

export const wholeNumber = v.pipe(v.number(), v.safeInteger())

/** A path parameter that is an id or a number. */
export const idParameter = (description: string, value: number) =>
  v.pipe(wholeNumber, v.description(description), v.examples([value]))
export type IdParameter = ReturnType<typeof idParameter>

/** An optional query parameter that is an id. */
export const idQuery = (description: string) => optionalQuery(v.pipe(v.number(), v.integer()), description)

export const issueIndex = idParameter('Number of the issue within its repository.', 1)
export const commentId = idParameter('Id of the comment.', 9)
export const releaseId = idParameter('Id of the release.', 10)
export const teamId = idParameter('Id of the team.', 14)
export const keyId = idParameter('Id of the key.', 5)
export const repositoryId = idParameter('Id of the repository.', 7)
export const attachmentId = idParameter('Id of the attachment.', 11)
export const shortText = v.pipe(v.string(), v.maxLength(255))
/** The body of an issue, a comment or a release. */
export const longText = v.pipe(v.string(), v.maxLength(BODY_LIMIT))
export const fullNameText = v.pipe(v.string(), v.maxLength(TEXT_LIMITS.account.fullName))
export const emailText = v.pipe(v.string(), v.maxLength(TEXT_LIMITS.account.email))
export const locationText = v.pipe(v.string(), v.maxLength(TEXT_LIMITS.account.location))
/** Whether the digits of base64 are those of whole bytes. */
const hasWholeBytes = (text: string): boolean => {
  const digits = text.replace(/\s+/g, '')
  return digits.endsWith('=') ? digits.length % 4 === 0 : digits.length % 4 !== 1
}

/**
 * Bytes as base64. The expression takes linear time: only what an equals sign precedes can match its last
 * blanks.
 */
export const base64 = v.pipe(
  v.string(),
  v.regex(/^[A-Za-z0-9+/\s]*(?:={1,2}\s*)?$/, 'must be base64'),
  v.check(hasWholeBytes, 'must be base64'),
)
/** The name of a quota rule or group. */
const quotaName = v.pipe(v.string(), v.minLength(1), v.maxLength(255))
export const ruleName = example(quotaName, 'small')
export const groupName = example(quotaName, 'free')
/** A limit in a request: bytes, or -1 for unlimited. */
export const givenLimit = example(wholeNumber, 1_073_741_824)

/** Every member of options or of an edit, so that the compiler names one that is not read from the body. */
export type Complete<T> = { [Member in keyof Required<T>]: T[Member] }

export const repositoryNameOf = ({ owner, repo }: { owner: string; repo: string }): RepositoryName => ({
  owner,
  name: repo,
})

/**
 * Booleans that Gitea and Forgejo have in a body and Allot does not act on. They are removed from what the
 * handler receives. Invariant: every boolean of a body is true, false or null; text such as "no" is answered
 * 422.
 */
export const acceptedBooleans = <const Name extends string>(...names: Name[]): Record<Name, Ignored> =>
  Object.fromEntries(names.map((name) => [name, ignored])) as Record<Name, Ignored>

const ignored = v.optional(
  v.pipe(
    v.boolean(),
    v.description('Accepted and ignored.'),
    v.transform(() => undefined),
  ),
)
type Ignored = typeof ignored

/** A time of a query, or an empty text as clients written in Go send it. */
export const Moment = v.pipe(
  shortText,
  v.regex(
    /^(?:|\d{4}-\d\d-\d\d(?:T\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[-+]\d\d:\d\d))?)$/,
    'must be a time such as 2026-11-21T04:09:00Z',
  ),
  v.check((text) => text === '' || exists(text), 'must be a time that exists'),
)

/** Whether a time exists: JavaScript reads February 31 as March 3. */
export const exists = (moment: string): boolean => {
  const day = moment.slice(0, 10)
  const time = Date.parse(day)
  return (
    !Number.isNaN(time) && new Date(time).toISOString().startsWith(day) && !Number.isNaN(Date.parse(moment))
  )
}

/** @returns seconds since 1970 */
export const secondsOf = (moment: string | undefined): number | undefined =>
  moment ? Math.floor(Date.parse(moment) / 1000) : undefined

/** A choice of a query; clients written in Go send an empty string for a choice that is not set. */
export const choice = <T extends string>(description: string, ...options: T[]) =>
  optionalQuery(v.picklist([...options, '']), description)

/** A visibility in a body; clients written in Go send an empty string for a visibility that is not set. */
export const GivenVisibility = v.optional(v.picklist([...Visibility.options, '']))

export const visibilityIn = (given: v.InferOutput<typeof GivenVisibility>): Visibility | undefined =>
  given === '' ? undefined : given
