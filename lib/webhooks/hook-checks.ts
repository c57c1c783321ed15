import { invalidMember } from '../errors.ts'
import type { EditOf } from '../records/edits.ts'
import type { Hook } from '../records/schema/index.ts'
import type { AllowedAddresses } from './addresses.ts'
import { checkEvents } from './recipients.ts'

/** What an edit may change. */
export const HOOK_EDITED = [
  'url',
  'contentType',
  'secret',
  'authorization',
  'events',
  'branchFilter',
  'active',
  // URL of the service in the request. A webhook without one keeps it.
  'baseUrl',
] as const

/** The settings of a webhook. Absent members keep their value, or have their default in a new webhook. */
export type HookEdit = EditOf<Hook, (typeof HOOK_EDITED)[number]>

/** Longest texts, in characters. */
export const HOOK_LIMITS = { url: 2048, secret: 255, authorization: 1024, branchFilter: 255 } as const
export const MAX_EVENTS = 50

/**
 * Checks the members that are present.
 * @param addresses of receivers that are permitted; absent for an import, since every delivery checks them
 * again
 * @throws AllotError invalid
 */
export const checkHook = (hook: HookEdit, addresses?: AllowedAddresses): void => {
  for (const member of LIMITED) {
    const [text, limit] = [hook[member], HOOK_LIMITS[member]]
    if (text !== undefined && text.length > limit)
      throw invalidMember(NAMES[member], `must have at most ${limit} characters`)
  }
  if (hook.url !== undefined) checkUrl(hook.url, addresses)
  // Other characters cannot be in a header.
  if (!/^[\t\x20-\x7e]*$/.test(hook.authorization ?? ''))
    throw invalidMember('authorization_header', 'must be one line of printable ASCII characters')
  if ((hook.events?.length ?? 0) > MAX_EVENTS)
    throw invalidMember('events', `must have at most ${MAX_EVENTS} elements`)
  checkEvents(hook.events ?? [])
}

const LIMITED = Object.keys(HOOK_LIMITS) as (keyof typeof HOOK_LIMITS)[]

/** Members, as clients know them. */
const NAMES: Record<(typeof LIMITED)[number], string> = {
  url: 'config.url',
  secret: 'config.secret',
  authorization: 'authorization_header',
  branchFilter: 'branch_filter',
}

const checkUrl = (text: string, addresses: AllowedAddresses | undefined): void => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol))
    throw invalidMember('config.url', 'expected a URL that begins with http:// or https://')
  if (url.username !== '' || url.password !== '')
    throw invalidMember('config.url', 'must not have a user or a password: set authorization_header instead')
  try {
    addresses?.checkHost(url.hostname)
  } catch (error) {
    throw invalidMember('config.url', `${(error as Error).message}`)
  }
}
