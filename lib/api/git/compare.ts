import * as v from 'valibot'
import { NotFound } from '../../http/index.ts'
import { compare } from '../../repositories/contents/compare.ts'
import { number } from '../fields.ts'
import { reply, route } from '../route.ts'
import { openIn, read } from './access.ts'
import { Commit, CommitFiles, presentCommits } from './schema.ts'

const Compare = v.object({
  total_commits: number(1),
  /** The newest 250. */
  commits: v.array(Commit),
  files: CommitFiles,
})

export const compareRoutes = [
  route({
    ...read,
    method: 'GET',
    path: '/repos/{owner}/{repo}/compare/{basehead}',
    takesRest: true,
    operationId: 'repoCompareDiff',
    summary: 'What one branch, tag or commit has that another has not, as `base...head`',
    responses: { 200: Compare, 404: NotFound },
    handle: async (request, services) => {
      const open = await openIn(services, request)
      const found = open && (await compare(open, request.params.basehead))
      if (found === undefined) return reply(404)
      const fields = { stat: false, files: false, verification: true, changes: new Map() }
      const commits = await presentCommits(services, request, open!, found.commits, fields)
      return reply(200, { total_commits: found.total, commits, files: [...found.files] })
    },
  }),
]
