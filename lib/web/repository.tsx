/** @jsxRuntime automatic @jsxImportSource preact */
import { formatBytes, formatSize } from '../byte-sizes.ts'
import { AllotError } from '../errors.ts'
import { add, type Sum } from '../integers.ts'
import type { Repository, RepositoryUsage } from '../records/schema/index.ts'
import { SizeCell, Table } from './components.tsx'
import { accessibleOwner } from './owner-access.ts'
import { type PageContext, page, type View } from './route.ts'

export const repositoryRoutes = [
  page({
    method: 'GET',
    path: '/-/storage/{owner}/repositories/{repo}',
    auth: 'required',
    async handle({ user, frame, params }, services) {
      const { hosting, quota, settings } = services
      const owner = await accessibleOwner(services, user, params.owner)
      const repository = await hosting.repositories.find(user, owner.name, params.repo)
      const usage = repository && (await quota.repositoryUsage(repository.id))
      if (repository === undefined || usage === undefined)
        throw new AllotError('not_found', `there is no repository named ${owner.name}/${params.repo}`)
      const isCloneable = settings.clones && frame.site !== undefined
      const cloneUrl = isCloneable ? `${frame.site}/${owner.name}/${repository.name}.git` : undefined
      return repositoryView(frame, { owner: owner.name, repository, usage, cloneUrl })
    },
  }),
]

interface RepositoryData {
  readonly owner: string
  readonly repository: Repository
  readonly usage: RepositoryUsage
  /** Undefined when this server does not serve git. */
  readonly cloneUrl: string | undefined
}

const repositoryView = (frame: PageContext, { owner, repository, usage, cloneUrl }: RepositoryData): View => {
  const sizes = [
    ['Git data', usage.git],
    ['LFS', usage.lfs],
    ['Attachments of issues', usage.issues],
    ['Attachments of releases', usage.releases],
    ['Artifacts', usage.artifacts],
    ['Packages', usage.packages],
  ] as const
  const total = sizes.reduce<Sum>((sum, [, bytes]) => add(sum, bytes), 0)
  return {
    title: `${owner}/${repository.name}`,
    body: (
      <>
        <h1>
          <a href={frame.at(`/-/storage/${owner}`)}>{owner}</a>/{repository.name}
        </h1>
        <p class="subtitle">
          {repository.private ? 'Private' : 'Public'}
          {repository.description !== '' && ` · ${repository.description}`}
        </p>
        <p>
          <strong>{formatSize(total)}</strong> in total ({formatBytes(total)}).
        </p>
        <Table column="Category" numbers={['Size']}>
          {sizes.map(([name, bytes]) => (
            <tr key={name}>
              <td>{name}</td>
              <SizeCell bytes={bytes} />
            </tr>
          ))}
        </Table>
        {cloneUrl !== undefined && (
          <p>
            Clone with <code>git clone {cloneUrl}</code>
          </p>
        )}
      </>
    ),
  }
}
