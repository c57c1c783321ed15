/**
 * Whether this is the long suite, `npm run spec:all`. It repeats what the suite of `npm cit` does once: more
 * random runs, kills and sizes, all drivers and host frameworks. Files named `*.long.spec.ts` run only there.
 */
export const isLong = process.env.ALLOT_SPEC_LONG === '1'

/** @returns how often something is repeated: `few` times in `npm cit`, `all` in the long suite */
export const times = (few: number, all: number): number => (isLong ? all : few)

/** A part of a table: the entries with these names in `npm cit`, all of them in the long suite. */
export const sampleOf = <Entry>(
  all: Readonly<Record<string, Entry>>,
  names: readonly string[],
): Readonly<Record<string, Entry>> => {
  const unknown = names.filter((name) => !(name in all))
  if (unknown.length > 0) throw new Error(`there is no entry ${unknown.join(', ')}`)
  return isLong ? all : Object.fromEntries(names.map((name) => [name, all[name]!]))
}
