import * as v from 'valibot'

/**
 * Types of the fields that records share. Times are whole seconds since 1970, sizes are bytes. Names are
 * stored as they were given, and compared in lower case.
 */
export const integer = v.pipe(v.number(), v.safeInteger())
export const id = v.pipe(integer, v.minValue(1))
export const bytes = v.pipe(integer, v.minValue(0))
export const count = v.pipe(integer, v.minValue(0))
export const seconds = integer
/** Name of a stored file: none leads outside its folder. */
export const storedName = v.pipe(
  v.string(),
  v.regex(/^[0-9a-f][0-9a-f-]{3,99}$/, 'expected the name of a file'),
)

/** Who may see a record: 0 everyone, 1 every signed-in user, 2 only accounts with access. */
export const [PUBLIC, LIMITED, PRIVATE] = [0, 1, 2] as const
export const AUDIENCES = [PUBLIC, LIMITED, PRIVATE] as const
export type Audience = (typeof AUDIENCES)[number]

export const Visibility = v.picklist(['public', 'limited', 'private'])
export type Visibility = v.InferOutput<typeof Visibility>

export const audienceOf: Readonly<Record<Visibility, Audience>> = {
  public: PUBLIC,
  limited: LIMITED,
  private: PRIVATE,
}
