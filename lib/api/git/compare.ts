import * as v from 'valibot'
import { compare } from '../../repositories/contents/compare.ts'
import { number } from '../fields.ts'
import { openIn, repositories } from './access.ts'
import { Commit, CommitFiles, presentCommits } from './schema.ts'

const Compare = v.object({
  total_commits: number(1),
  /** The newest 250. */
  commits: v.array(Commit),
  files: CommitFiles,
})

export const compareRoutes = [
  repositories.get('repoCompareDiff', '/compare/{basehead}', {
    takesRest: true,
    summary: 'What one branch, tag or commit has that another has not, as `base...head`',
    of: Compare,
    run: async (request, services) => {
      const open = await openIn(services, request)
      const found = open && (await compare(open, request.params.basehead))
      if (found === undefined) return undefined
      const fields = { stat: false, files: false, verification: true, changes: new Map() }
      const commits = await presentCommits(services, request, open!, found.commits, fields)
      return { total_commits: found.total, commits, files: [...found.files] }
    },
  }),
]
