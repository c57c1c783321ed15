import { timestamp } from '../../../lib/clock.ts'
import type { CopyIds } from '../../../lib/records/schema/index.ts'
import { escapeControl } from '../../terminal.ts'
import { OTHER_PACKAGES } from '../labels.ts'
import { Report, titled } from '../report.ts'
import { differing, type Values } from '../things.ts'

/** Differences of one kind that are printed; when there are more, only the first of them. */
const [MAX_LINES, FIRST_LINES] = [100, 10]
/** Characters of a value in a line. */
const MAX_VALUE = 200

interface Difference {
  /** What it is, such as `issue`. */
  readonly kind: string
  readonly name: string
  /** Absent when the whole thing is missing on one side. */
  readonly field?: string
  readonly source: unknown
  readonly here: unknown
}

/** The results of a comparison. What a migration does not copy by design is a note, not a difference. */
export class Comparison extends Report {
  readonly #differences: Difference[] = []
  readonly #onlyHere: string[] = []
  readonly #seen = new Set<string>()
  readonly #others: (() => Promise<void>)[] = []
  readonly #file: string | undefined

  /** @param file that of `--report`, which gets all differences; undefined: none */
  constructor(file?: string) {
    super()
    this.#file = file
  }

  /** Compares something that both sides have. A value that is undefined at the source is not compared. */
  fields(kind: string, name: string, source: Values, here: Values): void {
    for (const field of differing(here, source))
      if (source[field] !== undefined)
        this.#differences.push({
          kind,
          name,
          field,
          source: shownTime(field, source[field]),
          here: shownTime(field, here[field] ?? null),
        })
  }

  /** Something that the source has, and that does not exist here. */
  missing(kind: string, name: string): void {
    this.#differences.push({ kind, name, source: true, here: false })
  }

  /** Something that exists here, and that the source does not have. */
  additional(kind: string, name: string): void {
    this.#differences.push({ kind, name, source: false, here: true })
  }

  /** An account or a repository that exists only here. A store may hold others than those of the source. */
  onlyHere(name: string): void {
    this.#onlyHere.push(name)
  }

  /** Remembers a thing here that the source has as well. */
  see(kind: string, copy: CopyIds): void {
    this.#seen.add(textOf(kind, copy))
  }

  /** Whether the source has a thing that was found here. */
  hasSeen(kind: string, copy: CopyIds): boolean {
    return this.#seen.has(textOf(kind, copy))
  }

  /** Looks for things that exist only here, once all things of the source were compared. */
  atEnd(work: () => Promise<void>): void {
    this.#others.push(work)
  }

  async end(): Promise<void> {
    for (const work of this.#others) await work()
  }

  /** Whether everything was compared, and nothing differs. */
  isSame(): boolean {
    return this.#differences.length === 0 && this.isComplete()
  }

  override lines(): string[] {
    const kinds = [...new Set(this.#differences.map(({ kind }) => kind))]
    const differences = kinds.flatMap((kind) =>
      this.#shortened(this.#differences.filter((difference) => difference.kind === kind).map(lineOf)),
    )
    return [
      ...titled(
        'compared',
        [...this.counts].map(([what, { found }]) => `${what}: ${found}`),
      ),
      ...titled('left behind by design', [`${NEVER_COPIED}, ${OTHER_PACKAGES}`]),
      ...this.sections(),
      ...titled('only here', this.#shortened(this.#onlyHere)),
      ...titled('different', differences),
      ...titled('not compared', this.#shortened(this.failures)),
      this.#result(),
    ].map(escapeControl)
  }

  #result(): string {
    const count = this.#differences.length
    const failed = this.failures.length
    const result = count === 0 ? 'no differences' : `differences: ${count}`
    return failed === 0 ? result : `${result} in what was compared; could not be compared: ${failed}`
  }

  #shortened(lines: readonly string[]): string[] {
    if (lines.length <= MAX_LINES) return [...lines]
    const hint =
      this.#file === undefined ? '--report FILE writes all of them' : `${this.#file} has all of them`
    return [...lines.slice(0, FIRST_LINES), `and ${lines.length - FIRST_LINES} more: ${hint}`]
  }

  /** Everything with all names, for programs. */
  override toJSON(): object {
    return { ...super.toJSON(), onlyHere: this.#onlyHere, differences: this.#differences }
  }
}

const NEVER_COPIED =
  'passwords, access tokens, blocks, addresses of organizations, further addresses of users, avatars, secrets of webhooks, wikis, pull requests, labels, milestones, assignees, reactions, protections, deploy keys, Actions, which parts of a repository are turned off, what mirrors follow'

const textOf = (kind: string, { id, of, to }: CopyIds): string => JSON.stringify([kind, id, of, to])

/** A time is printed as a text. */
const shownTime = (field: string, value: unknown): unknown =>
  /At$/.test(field) && typeof value === 'number' ? timestamp(value) : value

const lineOf = ({ kind, name, field, source, here }: Difference): string => {
  if (field !== undefined)
    return `${kind} ${name}: ${field} is ${shown(here)} here, ${shown(source)} at the source`
  return here === true ? `${kind} ${name}: only here` : `${kind} ${name}: not here`
}

const shown = (value: unknown): string => {
  const text = JSON.stringify(value)
  return text.length > MAX_VALUE ? `${text.slice(0, MAX_VALUE)}… (${text.length} characters)` : text
}
