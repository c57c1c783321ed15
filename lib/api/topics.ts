import * as v from 'valibot'
import { authorizeRepositoryAdmin } from '../accounts/authorize.ts'
import { NotFound } from '../http/index.ts'
import { normalTopic } from '../repositories/topics.ts'
import { example } from './fields.ts'
import { at, pageOf, reply, route } from './route.ts'

const topic = v.pipe(v.string(), v.maxLength(100))

const TopicName = v.object({ topics: example(v.array(v.string()), ['git', 'storage']) })
const RepoTopicOptions = v.object({
  topics: example(v.pipe(v.array(topic), v.maxLength(100)), ['git', 'storage']),
})

const repositories = at('/repos/{owner}/{repo}', { tag: 'repository', scope: 'repository' })

export const topicRoutes = [
  route({
    method: 'GET',
    path: '/repos/{owner}/{repo}/topics',
    operationId: 'repoListTopics',
    tag: 'repository',
    summary: 'The topics of a repository, in alphabetical order',
    auth: 'optional',
    scope: 'read:repository',
    paging: 'pages',
    responses: { 200: TopicName, 404: NotFound },
    handle: async ({ user, params, page: { offset, limit } }, { hosting }) => {
      const repository = await hosting.repositories.find(user, params.owner, params.repo)
      if (repository === undefined) return reply(404)
      const topics = repository.topics ?? []
      const page = pageOf(topics.slice(offset, offset + limit), topics.length)
      return { ...page, body: { topics: page.body } }
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
