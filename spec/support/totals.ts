import type { TestsStream } from 'node:test'

/** Why a test is skipped when `--title` selects another one. */
const OTHER_TITLE = 'test name does not match pattern'

/** Counts the tests of a run, and keeps which have begun, which have failed to run and which were skipped. */
export class Totals {
  #passed = 0
  #failed = 0
  #skipped = 0
  /** How many tests and suites were skipped, by reason. */
  readonly #reasons = new Map<string, number>()
  /** Of the spec files. */
  readonly #ended = new Set<string>()
  /** Titles that have begun and not ended, with how often. */
  readonly #open = new Map<string, number>()

  count(stream: TestsStream): void {
    stream.on('test:dequeue', ({ name }) => this.#open.set(name, (this.#open.get(name) ?? 0) + 1))
    stream.on('test:complete', ({ name }) => {
      const count = (this.#open.get(name) ?? 0) - 1
      if (count > 0) this.#open.set(name, count)
      else this.#open.delete(name)
    })
    stream.on('test:pass', ({ name, nesting, skip, details }) => {
      if (nesting === 0) this.#ended.add(name)
      if (skip === OTHER_TITLE) return
      if (skip !== undefined) {
        this.#skipped++
        const reason = typeof skip === 'string' ? skip : `no reason given: ${name}`
        this.#reasons.set(reason, (this.#reasons.get(reason) ?? 0) + 1)
      } else if (details.type !== 'suite') this.#passed++
    })
    stream.on('test:fail', ({ name, nesting, details }) => {
      if (nesting === 0) this.#ended.add(name)
      // A suite fails with its tests, or by itself: in a hook, or as a file that ran out of time.
      const { failureType } = details.error as Error & { failureType?: string }
      if (details.type !== 'suite' || failureType !== 'subtestsFailed') this.#failed++
    })
  }

  /** What has begun and not ended, a line each. */
  open(): string {
    return [...this.#open.keys()].map((name) => `  not ended: ${name}\n`).join('')
  }

  /**
   * @param files that must have ended
   * @param missing statuses that were not answered
   */
  summary(files: readonly string[], missing: readonly string[]): { text: string; isPassed: boolean } {
    const lost = files.filter((file) => !this.#ended.has(file))
    const isSkipAllowed = process.env.CI !== 'true' || this.#skipped === 0
    const lines = [
      ...(this.#passed + this.#failed === 0 ? [`no test ran: ${files.length} spec files`] : []),
      ...(missing.length > 0
        ? ['declared, and answered in no spec:', ...missing.map((line) => `  ${line}`)]
        : []),
      ...lost.map((file) => `did not end: ${file}`),
      ...[...this.#reasons].map(([reason, count]) => `skipped (${count}): ${reason}`),
      ...(isSkipAllowed ? [] : ['CI=true: nothing may be skipped']),
    ]
    const isPassed =
      this.#failed === 0 && this.#passed > 0 && missing.length + lost.length === 0 && isSkipAllowed
    const total = `${this.#passed} passed, ${this.#failed} failed, ${this.#skipped} skipped`
    return { text: `\n${[...lines, total].join('\n')}\n`, isPassed }
  }
}
