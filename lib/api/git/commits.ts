import * as v from 'valibot'
import type { Commit as GitCommit } from '../../git/objects/parse.ts'
import { Download, type StreamReply } from '../../http/index.ts'
import { changesOf, treesOf } from '../../repositories/contents/changes.ts'
import { listCommits, readCommit } from '../../repositories/contents/commits.ts'
import { compare } from '../../repositories/contents/compare.ts'
import { commitOf, type OpenRepository, refuseEmpty } from '../../repositories/contents/open-repository.ts'
import * as f from '../fields.ts'
import type { Recipient, Services } from '../route.ts'
import { openAt, openIn, processReply, repositories } from './access.ts'
import { Commit, type CommitFields, CommitFiles, presentCommits } from './schema.ts'

const wanted = (name: string) => f.optionalQuery(v.boolean(), `Whether ${name}; true when absent.`)

const fields = {
  stat: wanted('the number of changed lines is given'),
  verification: wanted('the signature is given'),
  files: wanted('the changed files are given'),
}

type FieldsQuery = { [Field in keyof CommitFields]?: boolean | undefined }

const fieldsIn = ({ stat = true, verification = true, files = true }: FieldsQuery): CommitFields => ({
  stat,
  verification,
  files,
})

const present = async (
  services: Services,
  request: Recipient,
  open: OpenRepository,
  commits: readonly GitCommit[],
  fields: CommitFields,
): Promise<v.InferOutput<typeof Commit>[]> => {
  const changes = fields.stat || fields.files ? await changesOf(open, commits) : new Map()
  return presentCommits(services, request, open, commits, { ...fields, changes })
}

export const commitRoutes = [
  repositories.list('repoGetAllCommits', '/commits', {
    summary: "A branch's history, the newest commit first",
    query: v.object({
      sha: f.optionalQuery(f.shortText, 'Branch, tag or commit; the default branch when absent.'),
      path: f.optionalQuery(f.shortText, 'Only commits that changed this file or folder.'),
      author: f.optionalQuery(f.shortText, "Only commits with this in the author's name or address."),
      since: f.optionalQuery(f.Moment, 'Only commits of this time and after it.'),
      until: f.optionalQuery(f.Moment, 'Only commits of this time and before it.'),
      not: f.optionalQuery(f.shortText, 'Leaves out the commits that this branch, tag or commit has.'),
      ...fields,
    }),
    of: Commit,
    also: [409],
    run: async (request, services) => {
      const { query, page } = request
      const open = await openIn(services, request)
      const commit = await commitOf(open, query.sha ?? '')
      if (commit === undefined) refuseEmpty(open)
      const times = { since: f.secondsOf(query.since), until: f.secondsOf(query.until) }
      const found = commit && (await listCommits({ ...open, commit }, { ...query, ...times }, page))
      if (!found) return undefined
      const items = await present(services, request, open, found.items, fieldsIn(query))
      return { items, total: await found.count() }
    },
  }),
  repositories.get('repoGetSingleCommit', '/git/commits/{sha}', {
    summary: 'A commit',
    query: v.object(fields),
    of: Commit,
    run: async (request, services) => {
      const open = await openAt(services, request, request.params.sha)
      const commit = await readCommit(open, open.commit)
      return commit && (await present(services, request, open, [commit], fieldsIn(request.query)))[0]
    },
  }),
  ...(['diff', 'patch'] as const).map((kind) =>
    repositories.get(
      kind === 'diff' ? 'repoDownloadCommitDiff' : 'repoDownloadCommitPatch',
      `/git/commits/{sha}.${kind}`,
      {
        summary: kind === 'diff' ? 'What a commit changed, as a diff' : 'A commit as a patch for git-am',
        of: Download,
        run: async (request, services) => {
          const open = await openAt(services, request, request.params.sha)
          const commit = await readCommit(open, open.commit)
          return commit && (async ({ signal }) => changeReply(open, commit, kind, signal))
        },
      },
    ),
  ),
]

const changeReply = (
  { git, access }: OpenRepository,
  commit: GitCommit,
  kind: 'diff' | 'patch',
  signal: AbortSignal,
): StreamReply => {
  const start = () =>
    kind === 'patch'
      ? git.start(access, 'format-patch', ['-1', '--stdout', '--no-signature', commit.id], signal)
      : git.start(access, 'diff-tree', ['-p', ...treesOf(commit)], signal)
  // The files can have any encoding.
  return processReply(start, { 'Content-Type': 'text/plain' })
}

const Compare = v.object({
  total_commits: f.number(1),
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
      const found = await compare(open, request.params.basehead)
      if (found === undefined) return undefined
      const fields = { stat: false, files: false, verification: true, changes: new Map() }
      const commits = await presentCommits(services, request, open, found.commits, fields)
      return { total_commits: found.total, commits, files: [...found.files] }
    },
  }),
]
