import * as v from 'valibot'
import { example, shortText } from './fields.ts'
import { repositoryView } from './repository-presenter.ts'
import { at } from './route.ts'

const CreateForkOption = v.object({
  organization: v.optional(v.nullable(example(shortText, 'acme'))),
  name: v.optional(v.nullable(example(shortText, 'app'))),
})

const forks = at('/repos/{owner}/{repo}/forks', { scope: 'repository' })

export const forkRoutes = [
  forks.list('listForks', '', {
    summary: 'The forks of a repository',
    of: repositoryView,
    run: ({ user, repository, page, client }, { hosting }) =>
      hosting.forks.list(user, repository, page, client()),
  }),
  forks.post('createFork', '', {
    summary: 'Fork a repository: a full copy, which counts for the new owner',
    body: CreateForkOption,
    of: repositoryView,
    status: 202,
    also: [409],
    run: ({ user, repository, body }, { hosting }) => {
      // Clients written in Go send an empty string for what is not set.
      const options = { organization: body.organization || undefined, name: body.name || undefined }
      return hosting.forks.fork(user, repository, options)
    },
  }),
]
