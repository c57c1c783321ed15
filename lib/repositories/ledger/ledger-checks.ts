/** Checks of what a host or a client passes to the ledger. */
import * as v from 'valibot'
import { LAST_SECOND } from '../../clock.ts'
import {
  checkArgument,
  checkOptionNames,
  describeIssue,
  describeValue,
  invalid,
  invalidMember,
  isObject,
  refuseControls,
  refuseDots,
} from '../../errors.ts'
import { isSubject, type Subject, subjects } from '../../quota/subjects.ts'
import { LedgerKind, RESERVED_PREFIX } from '../../records/schema/index.ts'
import type { LedgerEntry, LedgerListing, LedgerName, PutOptions } from './ledger-types.ts'

const shortText = v.pipe(v.string(), v.minLength(1), v.maxLength(255))
const wholeNumber = v.pipe(v.number(), v.safeInteger(), v.minValue(0))

/** A ledger entry as its caller describes it, with names instead of ids. `size` is in bytes. */
export const LedgerItem = v.object({
  repository: v.optional(shortText),
  owner: v.optional(shortText),
  name: shortText,
  size: wholeNumber,
  on: v.optional(v.picklist(['issue', 'release'])),
  index: v.optional(wholeNumber),
  run: v.optional(wholeNumber),
  type: v.optional(shortText),
  version: v.optional(shortText),
})
export type LedgerItem = v.InferOutput<typeof LedgerItem>

const LedgerNameSchema = v.object({ kind: LedgerKind, key: v.string() })

/**
 * A ledger entry with the names of its owner and repository, before its members are checked against its kind.
 */
export type NamedEntry = LedgerName & LedgerItem & Pick<LedgerEntry, 'expiresAt'>

const ENTRY_MEMBERS = ['op', 'kind', 'key', 'expiresAt', ...Object.keys(LedgerItem.entries)]

/** @throws AllotError invalid, with the name of the member */
export const checkEntry = (entry: NamedEntry) => {
  refuseReservedKey(entry)
  checkOptionNames(entry, ENTRY_MEMBERS, 'options such as { within: true } follow the entries')
  checkLedgerKey(entry.key)
  const { issues } = v.safeParse(LedgerItem, entry, { abortEarly: true })
  if (issues !== undefined) throw invalid(describeIssue(issues[0]))
  if (entry.expiresAt !== undefined) checkExpiry('expiresAt', entry.expiresAt)
}

/**
 * @param time a Date, or milliseconds since 1970
 * @throws AllotError invalid that names the member
 */
export const checkExpiry = (member: string, time: Date | number): void => {
  const isTime = time instanceof Date || typeof time === 'number'
  checkArgument(isTime, member, 'a Date, or milliseconds since 1970', time)
  const ms = Number(time)
  if (!(ms > Date.now() && ms <= LAST_SECOND * 1000))
    throw invalidMember(member, `must be later than now and before the year 10000, got ${timeText(ms)}`)
}

const timeText = (ms: number): string =>
  Number.isNaN(new Date(ms).getTime()) ? String(ms) : new Date(ms).toISOString()

const checkLedgerKey = (key: string): void => {
  if (key === '' || Buffer.byteLength(key) > 255) throw invalidMember('key', 'must have 1 to 255 bytes')
  if (!key.isWellFormed()) throw invalidMember('key', 'is not valid Unicode text')
  refuseControls(key, 'key')
  refuseDots(key, 'key')
}

const MAX_LISTED = 1000

const LedgerListingSchema = v.strictObject({
  kind: LedgerKind,
  prefix: shortText,
  after: v.optional(v.string()),
  limit: v.optional(v.pipe(wholeNumber, v.minValue(1), v.maxValue(MAX_LISTED)), MAX_LISTED),
})

/** @throws AllotError invalid, with the name of the option */
export const checkListing = (listing: LedgerListing): v.InferOutput<typeof LedgerListingSchema> => {
  requireObject(listing, 'list: expected an object with kind and prefix')
  const { issues, output } = v.safeParse(LedgerListingSchema, listing, { abortEarly: true })
  if (issues !== undefined) throw invalid(describeIssue(issues[0]))
  if (output.after !== undefined && !output.after.startsWith(output.prefix))
    throw invalidMember('after', 'must begin with the prefix')
  return output
}

export const requireObject = (entry: object, what = 'entry: expected an object with kind, key and more') => {
  if (typeof entry !== 'object' || entry === null || Array.isArray(entry))
    throw invalid(`${what}, received ${describeValue(entry)}`)
}

/** @throws AllotError invalid, with the name of the member */
export const checkLedgerName = (name: LedgerName) => {
  requireObject(name)
  const { issues } = v.safeParse(LedgerNameSchema, name, { abortEarly: true })
  if (issues !== undefined) throw invalid(describeIssue(issues[0]))
}

/**
 * Refuses keys reserved for the server.
 * @throws AllotError invalid
 */
export const refuseReservedKey = (name: LedgerName) => {
  checkLedgerName(name)
  const { key } = name
  if (key.startsWith(RESERVED_PREFIX))
    throw invalidMember(
      'key',
      `keys that begin with ${RESERVED_PREFIX} are reserved for what the server itself counts`,
    )
}

/**
 * @returns the subjects that must fit, `true` for all that an entry counts toward; undefined for none
 * @throws AllotError invalid, with the name of the option
 */
export const checkPutOptions = (options: PutOptions = {}): true | readonly Subject[] | undefined => {
  checkArgument(isObject(options), 'options', 'an object, such as { within: true }', options)
  checkOptionNames(options, ['within'])
  const { within = false } = options
  if (typeof within === 'boolean') return within || undefined
  checkArgument(Array.isArray(within) && within.length > 0, 'within', 'true, or a list of subjects', within)
  for (const [index, subject] of within.entries())
    checkArgument(isSubject(subject), `within[${index}]`, `one of ${subjects.join(', ')}`, subject)
  return within
}
