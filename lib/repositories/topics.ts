import type { Authorizer } from '../accounts/authorize.ts'
import { invalidMember } from '../errors.ts'
import { withEdit } from '../records/edits.ts'
import { type Repository, repositories } from '../records/schema/index.ts'
import type { Store } from '../records/store.ts'

const MAX_TOPICS = 25
const TOPIC = /^[a-z0-9][a-z0-9.-]{0,34}$/

/** Topics that people find repositories by: in lower case, each once, in alphabetical order. */
export class Topics {
  readonly #store: Store

  constructor(store: Store) {
    this.#store = store
  }

  /**
   * @param change makes the new topics of the present ones, within the write
   * @returns the repository; undefined when the authorizer does not find it
   * @throws AllotError invalid for a malformed topic, or more than 25 of them
   */
  edit(
    which: Authorizer<Repository>,
    change: (before: readonly string[]) => readonly string[],
  ): Promise<Repository | undefined> {
    return this.#store.write(async (tx) => {
      const found = await which(tx)
      if (found === undefined) return undefined
      const before = { ...found, topics: found.topics ?? [] }
      const topics = normalTopics(change(before.topics))
      const after = withEdit(before, { topics })
      if (after !== before) await repositories.save(tx, after)
      return after
    })
  }
}

const normalTopics = (given: readonly string[]): string[] => {
  const topics = [...new Set(given.map(normalTopic))].sort()
  checkTopics(topics)
  return topics
}

export const normalTopic = (topic: string): string => topic.trim().toLowerCase()

/** @throws AllotError invalid */
const checkTopics = (topics: readonly string[]): void => {
  const wrong = topics.find((topic) => !TOPIC.test(topic))
  if (wrong !== undefined)
    throw invalidMember(
      'topics',
      `${JSON.stringify(wrong)} must begin with a letter or digit and have at most 35 letters, digits, '-' and '.'`,
    )
  if (topics.length > MAX_TOPICS)
    throw invalidMember('topics', `a repository can have at most ${MAX_TOPICS} topics`)
}
