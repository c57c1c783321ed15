import * as v from 'valibot'
import { Visibility } from '../records/schema/index.ts'

/** "`{id}` is an integer key id." */
export const keyId = v.object({ id: v.pipe(v.number(), v.safeInteger()) })

/**
 * Booleans of a body that Gitea and Forgejo have and Allot does not act on: accepted, as clients send them, and left out of
 * what the handler gets. Invariant: every boolean of a body is true, false or null; text such as "no" is 422, whether or not
 * it is acted on.
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

/** Go's clients send a string without a value as an empty one: it says nothing. */
export const GivenVisibility = v.picklist([...Visibility.options, ''])

export const visibilityIn = (
  given: v.InferOutput<typeof GivenVisibility> | undefined,
): Visibility | undefined => (given === '' ? undefined : given)
