import fc from 'fast-check'

/** How long a law is tried. A driver over a network has less than its runs done by then, and that is enough. */
const MS = 4000

/** Tries a law on `runs` cases, or on as many as there is time for. Ends when nothing of it is under way any more. */
export const checkProperty = async <Case>(
  cases: fc.Arbitrary<Case>,
  runs: number,
  law: (one: Case) => Promise<void>,
): Promise<void> => {
  let last = Promise.resolve()
  const property = fc.asyncProperty(cases, (one) => {
    last = law(one)
    return last
  })
  await fc.assert(property, { numRuns: runs, interruptAfterTimeLimit: MS, markInterruptAsFailure: false })
  // Where time is up the last run is not waited for, and would go on with a driver whose test has ended.
  await last
}
