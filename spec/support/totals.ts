/** Why a test is skipped when `--title` selects another one. */
const OTHER_TITLE = 'test name does not match pattern'

/** An event of Node's test runner, as `record.mjs` writes it. */
export interface Recorded {
  readonly type: 'test:dequeue' | 'test:complete' | 'test:pass' | 'test:fail'
  readonly name: string
  readonly nesting: number
  readonly skip?: string | boolean
  readonly isSuite: boolean
  readonly failure?: { readonly type: string; readonly text: string }
}

/** Counts the tests of a run, and keeps which have begun, which have failed to run and which were skipped. */
export class Totals {
  #passed = 0
  readonly #failed: string[] = []
  #skipped = 0
  /** How many tests and suites were skipped, by reason. */
  readonly #reasons = new Map<string, number>()
  /** Of the spec files. */
  readonly #ended = new Set<string>()

  /**
   * @param events of one group
   * @param code with which its process has ended
   */
  count(events: readonly Recorded[], code: number | null): void {
    const failed = this.#failed.length
    let file = ''
    const open = new Map<string, number>()
    const change = (name: string, by: number) => open.set(name, (open.get(name) ?? 0) + by)
    for (const event of events) {
      const { type, name, nesting } = event
      if (type === 'test:dequeue') {
        change(name, 1)
        if (nesting === 0) file = name
      } else if (type === 'test:complete') change(name, -1)
      else {
        if (nesting === 0) this.#ended.add(name)
        this.#result(event, file)
      }
    }
    const running = [...open.keys()].filter((name) => open.get(name)! > 0)
    // The tests that run say more than their file.
    const shown = running.filter((name) => name !== file || running.length === 1)
    this.#failed.push(...shown.map((name) => `${file}: did not end: ${name}`))
    if (code !== 0 && this.#failed.length === failed)
      this.#failed.push(`a process ended with ${code === null ? 'a signal' : `code ${code}`}: see its output`)
  }

  #result({ type, name, skip, isSuite, failure }: Recorded, file: string): void {
    if (skip === OTHER_TITLE) return
    if (skip !== undefined) {
      this.#skipped++
      const reason = typeof skip === 'string' ? skip : `no reason given: ${name}`
      this.#reasons.set(reason, (this.#reasons.get(reason) ?? 0) + 1)
    } else if (type === 'test:pass') {
      if (!isSuite) this.#passed++
    }
    // A suite fails with its tests, or by itself: in a hook, or as a file that ran out of time.
    else if (!isSuite || failure?.type !== 'subtestsFailed')
      this.#failed.push(`${file}: ${name}\n${failure?.text ?? ''}`)
  }

  get hasSkipped(): boolean {
    return this.#skipped > 0
  }

  /**
   * @param files that must have ended
   * @param missing statuses that were not answered
   */
  summary(files: readonly string[], missing: readonly string[]): { text: string; isPassed: boolean } {
    const isNamed = (file: string) => this.#failed.some((one) => one.startsWith(`${file}: did not end: `))
    const lost = files.filter((file) => !this.#ended.has(file) && !isNamed(file))
    const isSkipAllowed = process.env.CI !== 'true' || this.#skipped === 0
    const failures = this.#failed.length
    const lines = [
      ...(failures > 0 ? ['failed:', ...this.#failed.map((one) => one.replace(/^/gm, '  ')), ''] : []),
      ...(this.#passed + failures === 0 ? [`no test ran: ${files.length} spec files`] : []),
      ...(missing.length > 0
        ? ['declared, and answered in no spec:', ...missing.map((line) => `  ${line}`)]
        : []),
      ...lost.map((file) => `did not end: ${file}`),
      ...[...this.#reasons].map(([reason, count]) => `skipped (${count}): ${reason}`),
      ...(isSkipAllowed ? [] : ['CI=true: nothing may be skipped']),
    ]
    const isPassed = failures === 0 && this.#passed > 0 && missing.length + lost.length === 0 && isSkipAllowed
    const total = `${this.#passed} passed, ${failures} failed, ${this.#skipped} skipped`
    return { text: `\n${[...lines, total].join('\n')}\n`, isPassed }
  }
}
