import type { Looking } from './looking.ts'
import type { Answer, Question } from './questions.ts'
import { isSame, type Known, type Recollection } from './recollection.ts'

/** What was asked by one run of some work, and how it was answered. */
export type Seen = Map<string, Known>

/** Entries that are compared again with every further look, so that more than this is better read in a transaction. */
export const LARGE = 1000
/** So are more looks than this, each of which waited for the one before it. */
const LONG = 8

/** Runs that others' writes may spoil before the work is better done in a transaction, where nothing can. */
export const RUNS = 3

/** Whether what was seen before is so at the moment of what is known. */
export const holds = (before: readonly Known[], known: ReadonlyMap<string, Known>): boolean =>
  before.every(({ question, answer }) => isSame(answer, known.get(question.id)!.answer))

/** Ends a run: the work is not to catch it, and when it does the run does not count all the same. */
class Abandoned extends Error {
  override readonly message = 'this run of the work is abandoned, and it will be run again'
}

/** The moment of what was never looked up. */
const UNSEEN = -1

export interface AttemptOptions {
  /** When the work was asked for: no answer may be from before. */
  begun?: number
  /** Answers of one moment after that, better than what is recollected. */
  given?: Seen | undefined
  /** Takes what is not recollected for absent, instead of looking it up at once. */
  assumes?: boolean
}

/**
 * One run of some work by what is recollected. What is not recollected is looked up, together with all that was seen
 * before, so that at the last look everything seen was true at one moment; where it was not, the run does not count.
 */
export class Attempt {
  readonly seen: Seen = new Map()
  readonly #recollection: Recollection
  readonly #looking: Looking
  readonly #given: Seen
  readonly #begun: number
  #entries = 0
  #looks = 0
  /** What the database said when it differed. */
  fresh: Seen | undefined
  isTooMuch = false
  /** Of the database itself. */
  failure: unknown

  readonly #assumes: boolean

  constructor(
    recollection: Recollection,
    looking: Looking,
    { begun = 0, given = new Map(), assumes = false }: AttemptOptions,
  ) {
    this.#recollection = recollection
    this.#looking = looking
    this.#begun = begun
    this.#given = given
    this.#assumes = assumes
  }

  get isAbandoned(): boolean {
    return this.isTooMuch || this.fresh !== undefined || this.failure !== undefined
  }

  readonly ask = async (questions: readonly Question[]): Promise<Answer[]> => {
    if (this.isAbandoned) throw new Abandoned()
    const unknown = questions.filter((question) => !this.#recall(question))
    if (this.#assumes) for (const question of unknown) this.#see({ question, answer: [], moment: UNSEEN })
    else if (unknown.length > 0) await this.#look(unknown)
    return questions.map(({ id }) => this.seen.get(id)!.answer)
  }

  /** Whether all that was seen was true at one moment since the work was asked for. */
  async confirm(): Promise<boolean> {
    const moments = new Set(this.#moments())
    const [moment = Number.POSITIVE_INFINITY] = moments
    if (moments.size <= 1 && moment > this.#begun) return true
    await this.#look([]).catch(() => undefined)
    if (this.failure !== undefined) throw this.failure
    return !this.isAbandoned
  }

  *#moments(): Iterable<number> {
    for (const { moment } of this.seen.values()) yield moment
  }

  #recall({ id }: Question): boolean {
    if (this.seen.has(id)) return true
    const known = this.#given.get(id) ?? this.#recollection.get(id)
    if (known === undefined) return false
    this.#see(known)
    return true
  }

  #see(known: Known): void {
    this.seen.set(known.question.id, known)
    this.#entries += 1 + known.answer.length
    if (this.#entries > LARGE) this.isTooMuch = true
  }

  async #look(unknown: readonly Question[]): Promise<void> {
    if (++this.#looks > LONG) this.isTooMuch = true
    if (this.isTooMuch) throw new Abandoned()
    const before = [...this.seen.values()]
    const known = await this.#looked(unknown, before)
    if (!holds(before, known)) {
      this.fresh = known
      throw new Abandoned()
    }
    for (const { question, answer } of before)
      this.seen.set(question.id, { question, answer, moment: known.get(question.id)!.moment })
    for (const { id } of unknown) if (!this.seen.has(id)) this.#see(known.get(id)!)
  }

  async #looked(unknown: readonly Question[], before: readonly Known[]): Promise<Map<string, Known>> {
    try {
      return await this.#looking.ask(unknown, before)
    } catch (error) {
      this.failure = error
      throw error
    }
  }
}
