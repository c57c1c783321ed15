/**
 * Whether this is the long suite, `npm run spec:all`. It repeats what the suite of `npm cit` does once: more
 * random runs, kills and sizes, all drivers and host frameworks. Files named `*.long.spec.ts` run only there.
 */
export const isLong = process.env.ALLOT_SPEC_LONG === '1'

/** @returns how often something is repeated: `few` times in `npm cit`, `all` in the long suite */
export const times = (few: number, all: number): number => (isLong ? all : few)
