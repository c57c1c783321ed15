import * as v from 'valibot'
import { Visibility } from '../records/schema.ts'

/** "`{id}` is an integer key id." */
export const keyId = v.object({ id: v.pipe(v.number(), v.safeInteger()) })

/** Go's clients send a string without a value as an empty one: it says nothing. */
export const GivenVisibility = v.picklist([...Visibility.options, ''])

export const visibilityIn = (
  given: v.InferOutput<typeof GivenVisibility> | undefined,
): Visibility | undefined => (given === '' ? undefined : given)
