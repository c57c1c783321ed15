import { invalidMember } from '../errors.ts'

const MAX_TOPICS = 25
const TOPIC = /^[a-z0-9][a-z0-9.-]{0,34}$/

/**
 * Topics as they are saved: in lower case, each once, in alphabetical order.
 * @throws AllotError invalid for a malformed topic, or more than 25 of them
 */
export const normalTopics = (given: readonly string[]): string[] => {
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
