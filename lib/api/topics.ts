import * as v from 'valibot'
import { authorizeRepositoryAdmin } from '../accounts/authorize.ts'
import { Empty, Forbidden, NotFound, ValidationError } from '../http/index.ts'
import { normalTopic } from '../repositories/topics.ts'
import { example } from './fields.ts'
import { pageOf, reply, replyEmpty, repositoryWrite, route } from './route.ts'

const topic = v.pipe(v.string(), v.maxLength(100))

const TopicName = v.object({ topics: example(v.array(v.string()), ['git', 'storage']) })
const RepoTopicOptions = v.object({
  topics: example(v.pipe(v.array(topic), v.maxLength(100)), ['git', 'storage']),
})

const changed = { 204: Empty, 403: Forbidden, 404: NotFound, 422: ValidationError } as const

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
  route({
    ...repositoryWrite,
    method: 'PUT',
    path: '/repos/{owner}/{repo}/topics',
    operationId: 'repoUpdateTopics',
    summary: 'Replace the topics of a repository',
    body: RepoTopicOptions,
    responses: changed,
    handle: async ({ user, params, body }, { hosting }) => {
      const authorize = authorizeRepositoryAdmin(user, params.owner, params.repo)
      return replyEmpty((await hosting.topics.edit(authorize, () => body.topics)) !== undefined)
    },
  }),
  route({
    ...repositoryWrite,
    method: 'PUT',
    path: '/repos/{owner}/{repo}/topics/{topic}',
    operationId: 'repoAddTopic',
    summary: 'Add a topic to a repository',
    responses: changed,
    handle: async ({ user, params }, { hosting }) => {
      const authorize = authorizeRepositoryAdmin(user, params.owner, params.repo)
      const edited = await hosting.topics.edit(authorize, (before) => [...before, params.topic])
      return replyEmpty(edited !== undefined)
    },
  }),
  route({
    ...repositoryWrite,
    method: 'DELETE',
    path: '/repos/{owner}/{repo}/topics/{topic}',
    operationId: 'repoDeleteTopic',
    summary: 'Remove a topic from a repository',
    responses: { 204: Empty, 403: Forbidden, 404: NotFound },
    handle: async ({ user, params }, { hosting }) => {
      const gone = normalTopic(params.topic)
      let hadTopic = false
      const edited = await hosting.topics.edit(
        authorizeRepositoryAdmin(user, params.owner, params.repo),
        (before) => {
          hadTopic = before.includes(gone)
          return before.filter((kept) => kept !== gone)
        },
      )
      return replyEmpty(edited !== undefined && hadTopic)
    },
  }),
]
