import fc from 'fast-check'

/** A driver over a network completes fewer runs in this time, which is enough. */
const TIME_LIMIT_MS = 4000

/** Checks a property with `runs` cases, or with as many as the time limit allows. */
export const checkProperty = async <Case>(
  cases: fc.Arbitrary<Case>,
  runs: number,
  check: (value: Case) => Promise<void>,
): Promise<void> => {
  let last = Promise.resolve()
  const property = fc.asyncProperty(cases, (value) => {
    last = check(value)
    return last
  })
  await fc.assert(property, {
    numRuns: runs,
    interruptAfterTimeLimit: TIME_LIMIT_MS,
    markInterruptAsFailure: false,
  })
  // fast-check does not wait for the run that the time limit interrupts; it would use the driver of a
  // finished test.
  await last
}
