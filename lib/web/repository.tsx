import { AllotError } from '../errors.ts'
import { add, type Sum } from '../integers.ts'
import { type Repository, type RepositoryUsage, repositoryUsages } from '../records/schema.ts'
import { formatSize } from './format.ts'
import { accessibleOwner } from './owner-access.ts'
import { type PageContext, page, type View } from './route.ts'
import { Size } from './usage-bar.tsx'

/** @jsxRuntime automatic @jsxImportSource preact */

export interface RepositoryData {
  readonly owner: string
  readonly repository: Repository
  readonly container: RepositoryUsage
  /** Where it is cloned from; undefined where it is not from here. */
  readonly clone: string | undefined
}

/** One repository, with what it and everything in it takes. */
export const repositoryView = (frame: PageContext, facts: RepositoryData): View => {
  const { owner, repository, clone } = facts
  const sizes = sizesOf(facts)
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
        <p class="summary">
          <strong>{formatSize(total)}</strong> in all ({total.toLocaleString('en')} bytes).
        </p>
        <table>
          <thead>
            <tr>
              <th scope="col">What</th>
              <th scope="col" class="number">
                Size
              </th>
            </tr>
          </thead>
          <tbody>
            {sizes.map(([name, bytes]) => (
              <tr key={name}>
                <td>{name}</td>
                <td class="number">
                  <Size bytes={bytes} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
        {clone !== undefined && (
          <p>
            Clone it with <code>git clone {clone}</code>
          </p>
        )}
      </>
    ),
  }
}

const sizesOf = ({ container: { git, lfs, issues, releases, artifacts, packages } }: RepositoryData) =>
  [
    ['Git data', git],
    ['LFS', lfs],
    ['Attachments of issues', issues],
    ['Attachments of releases', releases],
    ['Artifacts', artifacts],
    ['Packages', packages],
  ] as const

export const repositoryRoutes = [
  page({
    method: 'GET',
    path: '/-/storage/{owner}/repositories/{repo}',
    who: 'user',
    async handle({ user, frame, params }, { store, hosting, settings, ...services }) {
      const owner = await accessibleOwner({ store, hosting, settings, ...services }, user, params.owner)
      const repository = await hosting.repositories.find(user, owner.name, params.repo)
      const container = repository && (await store.read((tx) => repositoryUsages.get(tx, [repository.id])))
      if (repository === undefined || container === undefined)
        throw new AllotError('not_found', 'there is no such repository')
      const clone =
        settings.clones && frame.site !== undefined
          ? `${frame.site}/${owner.name}/${repository.name}.git`
          : undefined
      return repositoryView(frame, { owner: owner.name, repository, container, clone })
    },
  }),
]
