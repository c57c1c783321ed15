import { timestamp } from '../../../lib/clock.ts'
import { escapeControl } from '../../terminal.ts'
import { OTHER_TYPE } from '../content/packages.ts'
import { COMPARED_KINDS, type ComparedKind as Kind } from '../labels.ts'
import { type Section, titled } from '../report.ts'

/** Differences of one kind that are printed; when there are more, only the first of them. */
const [MAX_LINES, FIRST_LINES] = [100, 10]
/** Characters of a value in a line. */
const MAX_VALUE = 200

export type Value = string | number | boolean | null | readonly string[] | undefined
/** Values to compare, by what they are. An undefined one at the source is not compared. */
export type Fields = Readonly<Record<string, Value>>

/** Something that a list at the source has, and that the list here must have. */
export interface Item {
  /**
   * Identifies the item on both sides. Of several with one name, the first is compared with the first, and so
   * on.
   */
  readonly name: string
  readonly fields: Fields
}

interface Difference {
  readonly kind: Kind
  readonly name: string
  /** Absent when the whole thing is missing on one side. */
  readonly field?: string
  readonly source: Value
  readonly here: Value
}

/** The results of a comparison. */
export class Comparison {
  readonly #counts = new Map<Kind, number>()
  readonly #differences: Difference[] = []
  readonly #leftBehind = new Map<string, Set<string>>()
  readonly #onlyHere: string[] = []
  readonly #failures: string[] = []

  count(kind: Kind, number = 1): void {
    this.#counts.set(kind, (this.#counts.get(kind) ?? 0) + number)
  }

  /** Compares something that both sides have. */
  fields(kind: Kind, name: string, source: Fields, here: Fields): void {
    for (const [field, value] of Object.entries(source))
      if (value !== undefined && JSON.stringify(value) !== JSON.stringify(here[field] ?? null))
        this.#differences.push({ kind, name, field, source: value, here: here[field] ?? null })
  }

  /**
   * Compares two lists, in any order.
   * @param scope name of the owner or repository
   */
  lists(kind: Kind, scope: string, source: readonly Item[], here: readonly Item[]): void {
    const [expected, actual] = [byName(source), byName(here)]
    for (const [name, { fields }] of expected) {
      const found = actual.get(name)
      if (found === undefined) this.missing(kind, `${scope} ${name}`)
      else this.fields(kind, `${scope} ${name}`, fields, found.fields)
    }
    for (const name of actual.keys()) if (!expected.has(name)) this.additional(kind, `${scope} ${name}`)
  }

  /** Something that the source has, and that does not exist here. */
  missing(kind: Kind, name: string): void {
    this.#differences.push({ kind, name, source: true, here: false })
  }

  /** Something that exists here, and that the source does not have. */
  additional(kind: Kind, name: string): void {
    this.#differences.push({ kind, name, source: false, here: true })
  }

  /** An account or a repository that exists only here. A store may hold others than those of the source. */
  onlyHere(name: string): void {
    this.#onlyHere.push(name)
  }

  /**
   * Something that a migration leaves behind by design: no difference. The sections are those of its report.
   */
  note(_: Section, what: string, name: string): void {
    this.#leftBehind.set(what, (this.#leftBehind.get(what) ?? new Set()).add(name))
  }

  /** Something that could not be compared. */
  failed(what: string, reason: string): void {
    this.#failures.push(`${what}: ${reason}`)
  }

  /** Whether everything was compared, and nothing differs. */
  isSame(): boolean {
    return this.#differences.length === 0 && this.#failures.length === 0
  }

  /** @param file where all differences are written; undefined: nowhere */
  lines(file?: string): string[] {
    const counts = [...this.#counts].map(([kind, count]) => `${COMPARED_KINDS[kind]}: ${count}`)
    const leftBehind = [...this.#leftBehind].map(([what, names]) => `${what}: ${names.size}`)
    const differences = (Object.keys(COMPARED_KINDS) as Kind[]).flatMap((kind) => this.#linesOf(kind, file))
    return [
      ...titled('compared', counts),
      ...titled('left behind by design', [`${NEVER_COPIED}, ${OTHER_TYPE}`, ...leftBehind]),
      ...titled('only here', shortened(this.#onlyHere, 'accounts and repositories', file)),
      ...titled('different', differences),
      ...titled('not compared', shortened(this.#failures, 'failures', file)),
      this.#conclusion(),
    ].map(escapeControl)
  }

  /** Everything with all names, for programs. */
  toJSON(): object {
    return {
      compared: Object.fromEntries(this.#counts),
      leftBehind: Object.fromEntries([...this.#leftBehind].map(([what, names]) => [what, [...names]])),
      onlyHere: this.#onlyHere,
      differences: this.#differences,
      failed: this.#failures,
    }
  }

  #linesOf(kind: Kind, file: string | undefined): string[] {
    const found = this.#differences.filter((difference) => difference.kind === kind)
    return shortened(found.map(lineOf), `differences of ${COMPARED_KINDS[kind]}`, file)
  }

  #conclusion(): string {
    const [differences, failures] = [this.#differences.length, this.#failures.length]
    const found =
      differences === 0 ? 'no differences' : `${differences} difference${differences === 1 ? '' : 's'}`
    if (failures === 0) return found
    return `${found}, and ${failures} thing${failures === 1 ? '' : 's'} could not be compared`
  }
}

const NEVER_COPIED =
  'passwords, access tokens, blocks, addresses of organizations, further addresses of users, avatars, secrets of webhooks, wikis, pull requests, labels, milestones, assignees, reactions, protections, deploy keys, Actions, which parts of a repository are turned off, what mirrors follow'

const lineOf = ({ kind, name, field, source, here }: Difference): string => {
  if (field !== undefined)
    return `${kind} ${name}: ${field} is ${shown(here)} here, ${shown(source)} at the source`
  return here === true ? `${kind} ${name}: only here` : `${kind} ${name}: not here`
}

const shown = (value: Value): string => {
  const text = JSON.stringify(value)
  return text.length > MAX_VALUE ? `${text.slice(0, MAX_VALUE)}… (${text.length} characters)` : text
}

const shortened = (lines: readonly string[], what: string, file: string | undefined): string[] => {
  if (lines.length <= MAX_LINES) return [...lines]
  const where = file === undefined ? '--report FILE writes all of them' : `all of them are in ${file}`
  return [...lines.slice(0, FIRST_LINES), `and ${lines.length - FIRST_LINES} more ${what}: ${where}`]
}

const byName = (items: readonly Item[]): Map<string, Item> => {
  const found = new Map<string, Item>()
  for (const item of items) {
    let name = item.name
    for (let number = 2; found.has(name); number++) name = `${item.name} (${number})`
    found.set(name, item)
  }
  return found
}

/** Items that have nothing but their names. */
export const named = (names: Iterable<string>): Item[] => [...names].map((name) => ({ name, fields: {} }))

/**
 * A time as it is compared and printed.
 * @param seconds since 1970
 */
export const dateOf = (seconds: number | undefined): string | undefined =>
  seconds === undefined ? undefined : timestamp(seconds)
