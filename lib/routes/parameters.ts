import * as v from 'valibot'

/** "`{id}` is an integer key id." */
export const keyId = v.object({ id: v.pipe(v.number(), v.safeInteger()) })
