import { StorageError } from '../../lib/storage/index.ts'
import { type Asked, askAll, type Told } from './asking.ts'
import type { Connections } from './connections.ts'
import { isLost } from './explain.ts'
import { BROKEN } from './patience.ts'
import type { Question } from './questions.ts'
import { isSame, type Known, type Recollection } from './recollection.ts'

/** Statements under way at once: what is asked meanwhile goes together in the next. */
const AT_ONCE = 2
/** Questions in one statement; more leave in another. */
const MOST = 500

interface Room {
  readonly questions: Map<string, Question>
  readonly expected: Map<string, Known>
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
  #waiting: Room[] = []
  #underway = 0

  constructor(connections: Connections, recollection: Recollection) {
    this.#connections = connections
    this.#recollection = recollection
  }

  /**
   * The answers by the questions' ids, all of one moment, and noted.
   * @param expected what is likely still so; it is answered too, by itself where it is.
   */
  ask(questions: Iterable<Question>, expected: Iterable<Known> = []): Promise<Map<string, Known>> {
    const room = this.#room()
    for (const question of questions) room.questions.set(question.id, question)
    for (const known of expected) expect(room, known)
    return room.answered
  }

  #room(): Room {
    const last = this.#waiting.at(-1)
    if (last !== undefined && last.questions.size + last.expected.size < MOST) return last
    const room = newRoom()
    this.#waiting.push(room)
    // Whoever is ready in this turn of the event loop joins before it leaves.
    if (this.#underway < AT_ONCE) setImmediate(() => this.#leave())
    return room
  }

  #leave(): void {
    if (this.#underway >= AT_ONCE) return
    const room = this.#waiting.shift()
    if (room === undefined) return
    this.#underway++
    const answers = this.#look(room)
    room.settle(answers)
    answers
      .catch(() => undefined)
      .then(() => {
        this.#underway--
        this.#leave()
      })
  }

  async #look(room: Room): Promise<Map<string, Known>> {
    const moment = this.#recollection.next()
    const questions = [...room.questions.values()]
    const { answers, others } = await this.#untilReached({ questions, expected: [...room.expected.values()] })
    const known = new Map<string, Known>()
    for (const { question, answer } of room.expected.values()) {
      const other = others.get(question.id)
      const one = { question, answer: other ?? answer, moment }
      known.set(question.id, one)
      if (other !== undefined || !this.#recollection.has(question.id)) this.#recollection.note(one)
    }
    for (const [at, question] of questions.entries()) {
      const one = { question, answer: answers[at]!, moment }
      known.set(question.id, one)
      this.#recollection.note(one)
    }
    return known
  }

  async #untilReached(asked: Asked): Promise<Told> {
    const { read, statements, explain } = this.#connections
    for (let times = 1; ; times++)
      try {
        return await askAll(read, statements, asked)
      } catch (error) {
        const isWorthwhile = isLost(error) && !(error instanceof StorageError) && times < BROKEN
        if (!isWorthwhile) throw explain(error)
      }
  }
}

/** Pages are asked for outright, and so is what two expect differently. */
const expect = ({ questions, expected }: Room, known: Known): void => {
  const { question, answer } = known
  if (questions.has(question.id)) return
  const before = expected.get(question.id)
  if (question.end !== undefined || (before !== undefined && !isSame(before.answer, answer)))
    questions.set(question.id, question)
  else if (before === undefined) expected.set(question.id, known)
}

const newRoom = (): Room => {
  let settle!: (answers: Promise<Map<string, Known>>) => void
  const answered = new Promise<Map<string, Known>>((resolve) => {
    settle = resolve
  })
  // Each who asked hears of a failure; when nobody waits any more it must not end the process.
  answered.catch(() => undefined)
  return { questions: new Map(), expected: new Map(), answered, settle }
}
