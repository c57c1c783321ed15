/**
 * Repositories by all that they use, for administrators: the size of a repository itself is git data and LFS
 * objects only.
 */
import * as v from 'valibot'
import type { UsedRepository } from '../../content/usage/ledger-lists.ts'
import * as f from '../fields.ts'
import { at } from '../route.ts'
import { resource } from '../view.ts'
import { bytes } from './schema.ts'

/** A repository with the bytes that it and everything in it use. */
const used = resource<UsedRepository>()({
  id: [f.number(7), ({ repository }) => repository.id],
  full_name: [f.text('alice/app'), ({ owner, repository }) => `${owner.name}/${repository.name}`],
  html_url: [
    f.link('/alice/app'),
    ({ owner, repository }, { htmlUrls, baseUrl }) =>
      htmlUrls.of({ kind: 'repository', owner: owner.name, repo: repository.name }, baseUrl),
  ],
  private: [v.boolean(), ({ repository }) => repository.private],
  updated_at: [f.Time, ({ repository }) => f.timestamp(repository.updatedAt)],
  /** Sum of the sizes. */
  used: [f.example(bytes, 15_836), ({ used }) => used],
  size: [
    v.object({
      git: f.example(bytes, 12_288),
      LFS: f.example(bytes, 0),
      attachments: v.object({ issues: f.example(bytes, 2048), releases: f.example(bytes, 0) }),
      artifacts: f.example(bytes, 1500),
      packages: f.example(bytes, 0),
    }),
    ({ usage: { git, lfs, issues, releases, artifacts, packages } }) => ({
      git,
      LFS: lfs,
      attachments: { issues, releases },
      artifacts,
      packages,
    }),
  ],
})
export const QuotaUsedRepository = used.schema
export type QuotaUsedRepository = v.InferOutput<typeof QuotaUsedRepository>

const admin = at('/admin', { scope: ['admin', 'repository'], reads: 'admin' })

export const largestRepositoryRoutes = [
  admin.list('adminListLargestRepositories', '/quota/repositories', {
    summary: 'The repositories of all owners with all bytes that count toward quota, largest first',
    of: used,
    run: ({ page }, { hosting }) => hosting.usage.largestRepositories(undefined, page),
  }),
  admin.list('adminListLargestUserRepositories', '/users/{username}/quota/repositories', {
    summary:
      "A user's or an organization's repositories with all bytes that count toward quota, largest first",
    of: used,
    run: async ({ user, params, page }, { hosting }) => {
      const account = await hosting.accounts.find(user, params.username)
      return account && hosting.usage.largestRepositories(account.id, page)
    },
  }),
]
