import * as v from 'valibot'
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

const repositories = at('/repos/{owner}/{repo}', { tag: 'repository', scope: 'repository' })

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
    run: async ({ user, params, body }, { hosting }) => {
      const authorize = authorizeRepositoryAdmin(user, params.owner, params.repo)
      return (await hosting.topics.edit(authorize, () => body.topics)) !== undefined
    },
  }),
  repositories.put('repoAddTopic', '/topics/{topic}', {
    summary: 'Add a topic to a repository',
    also: [422],
    run: async ({ user, params }, { hosting }) => {
      const authorize = authorizeRepositoryAdmin(user, params.owner, params.repo)
      return (await hosting.topics.edit(authorize, (before) => [...before, params.topic])) !== undefined
    },
  }),
  repositories.delete('repoDeleteTopic', '/topics/{topic}', {
    summary: 'Remove a topic from a repository',
    run: async ({ user, params }, { hosting }) => {
      const gone = normalTopic(params.topic)
      let hadTopic = false
      const authorize = authorizeRepositoryAdmin(user, params.owner, params.repo)
      const edited = await hosting.topics.edit(authorize, (before) => {
        hadTopic = before.includes(gone)
        return before.filter((kept) => kept !== gone)
      })
      return edited !== undefined && hadTopic
    },
  }),
]
