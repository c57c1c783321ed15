import { StorageError } from '../../lib/storage/index.ts'
import { askAll } from './asking.ts'
import type { Connections } from './connections.ts'
import { isLost } from './explain.ts'
import { BROKEN } from './patience.ts'
import type { Question } from './questions.ts'
import type { Known, Recollection } from './recollection.ts'

/** Statements under way at once: what is asked meanwhile goes together in the next. */
const AT_ONCE = 2
/** Questions in one statement; more leave in another. */
const MOST = 500

interface Asked {
  readonly questions: Map<string, Question>
  readonly answered: Promise<Map<string, Known>>
  readonly settle: (answers: Promise<Map<string, Known>>) => void
}

/**
 * Asks the database, everybody's questions together: one statement sees one moment, and that is later than the question
 * of whoever is answered by it.
 */
export class Looking {
  readonly #connections: Connections
  readonly #recollection: Recollection
  #waiting: Asked[] = []
  #underway = 0

  constructor(connections: Connections, recollection: Recollection) {
    this.#connections = connections
    this.#recollection = recollection
  }

  /** The answers by the questions' ids, all of one moment, and noted. */
  ask(questions: Iterable<Question>): Promise<Map<string, Known>> {
    const asked = this.#room()
    for (const question of questions) asked.questions.set(question.id, question)
    return asked.answered
  }

  #room(): Asked {
    const last = this.#waiting.at(-1)
    if (last !== undefined && last.questions.size < MOST) return last
    const asked = newAsked()
    this.#waiting.push(asked)
    // Whoever is ready in this turn of the event loop joins before it leaves.
    if (this.#underway < AT_ONCE) setImmediate(() => this.#leave())
    return asked
  }

  #leave(): void {
    if (this.#underway >= AT_ONCE) return
    const asked = this.#waiting.shift()
    if (asked === undefined) return
    this.#underway++
    const answers = this.#look([...asked.questions.values()])
    asked.settle(answers)
    answers
      .catch(() => undefined)
      .then(() => {
        this.#underway--
        this.#leave()
      })
  }

  async #look(questions: readonly Question[]): Promise<Map<string, Known>> {
    const moment = this.#recollection.next()
    const answers = await this.#untilReached(questions)
    const known = new Map<string, Known>()
    for (const [at, question] of questions.entries()) {
      const one = { question, answer: answers[at]!, moment }
      known.set(question.id, one)
      this.#recollection.note(one)
    }
    return known
  }

  async #untilReached(questions: readonly Question[]) {
    const { read, statements, explain } = this.#connections
    for (let times = 1; ; times++)
      try {
        return await askAll(read, statements, questions)
      } catch (error) {
        const isWorthwhile = isLost(error) && !(error instanceof StorageError) && times < BROKEN
        if (!isWorthwhile) throw explain(error)
      }
  }
}

const newAsked = (): Asked => {
  let settle!: (answers: Promise<Map<string, Known>>) => void
  const answered = new Promise<Map<string, Known>>((resolve) => {
    settle = resolve
  })
  // Each who asked hears of a failure; when nobody waits any more it must not end the process.
  answered.catch(() => undefined)
  return { questions: new Map(), answered, settle }
}
