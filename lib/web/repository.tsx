/** @jsxRuntime automatic @jsxImportSource preact */
import { add, type Sum } from '../integers.ts'
import type { Repository, RepositoryUsage } from '../records/schema.ts'
import { formatSize } from './format.ts'
import type { PageContext, View } from './route.ts'
import { Size } from './usage-bar.tsx'

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
