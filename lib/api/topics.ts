import * as v from 'valibot'
import type { Identity } from '../accounts/access.ts'
import { authorizeRepositoryAdmin } from '../accounts/authorize.ts'
import { pageOfAll } from '../records/pages.ts'
import { normalTopic } from '../repositories/topics.ts'
import { example } from './fields.ts'
import { at } from './route.ts'

const topic = v.pipe(v.string(), v.maxLength(100))

const TopicName = v.object({ topics: example(v.array(v.string()), ['git', 'storage']) })
const RepoTopicOptions = v.object({
  topics: example(v.pipe(v.array(topic), v.maxLength(100)), ['git', 'storage']),
})

const repositories = at('/repos/{owner}/{repo}', { scope: 'repository' })

const authorized = (user: Identity, { owner, repo }: { owner: string; repo: string }) =>
  authorizeRepositoryAdmin(user, owner, repo)

export const topicRoutes = [
  repositories.list('repoListTopics', '/topics', {
    summary: 'The topics of a repository, in alphabetical order',
    of: v.string(),
    wrap: { schema: () => TopicName, body: (topics) => ({ topics }) },
    run: async ({ user, params, page }, { hosting }) => {
      const repository = await hosting.repositories.find(user, params.owner, params.repo)
      return repository && pageOfAll(repository.topics ?? [], page)
    },
  }),
  repositories.put('repoUpdateTopics', '/topics', {
    summary: 'Replace the topics of a repository',
    body: RepoTopicOptions,
    run: ({ user, params, body: { topics } }, { hosting }) =>
      hosting.repositories.edit(authorized(user, params), { topics }, user.id),
  }),
  repositories.put('repoAddTopic', '/topics/{topic}', {
    summary: 'Add a topic to a repository',
    also: [422],
    run: ({ user, params }, { hosting }) => {
      const topics = (present: readonly string[]) => [...present, params.topic]
      return hosting.repositories.edit(authorized(user, params), { topics }, user.id)
    },
  }),
  repositories.delete('repoDeleteTopic', '/topics/{topic}', {
    summary: 'Remove a topic from a repository',
    run: async ({ user, params }, { hosting }) => {
      const gone = normalTopic(params.topic)
      let hadTopic = false
      const topics = (present: readonly string[]) => {
        hadTopic = present.includes(gone)
        return present.filter((kept) => kept !== gone)
      }
      await hosting.repositories.edit(authorized(user, params), { topics }, user.id)
      return hadTopic
    },
  }),
]
