import { ifAvailable, type Migration, reportErrors, succeeds } from '../migration.ts'
import { type CopiedRepository, repositoryPath } from '../repositories.ts'
import { SourceRelease } from '../shapes.ts'
import { giveWritten, openContents, type RepositoryContents, withdrawContents } from './contents.ts'

const NOT_SHOWN = 'releases, which the source has turned off or does not show'

/** Copies the releases of a repository, drafts too, with their files. */
export const copyReleases = (migration: Migration, copied: CopiedRepository): Promise<void> =>
  reportErrors(migration.report, `the releases of ${copied.given.full_name}`, async () => {
    const { source, report } = migration
    const path = `${repositoryPath(copied.given)}/releases`
    const found = await ifAvailable(source.list(SourceRelease, path))
    if (found === undefined) {
      if (!source.isAllot) report.note('notCopied', NOT_SHOWN, copied.given.full_name)
      return
    }
    const contents = openContents(migration, copied, 'release')
    let isComplete = true
    // Those of the same second are listed in the order of their ids.
    for (const release of found.reverse())
      if (!(await copyRelease(migration, copied, contents, release))) isComplete = false
    if (isComplete) await withdrawContents(migration, contents, path)
  })

/** @returns whether everything was copied */
const copyRelease = (
  migration: Migration,
  { repository, given }: CopiedRepository,
  contents: RepositoryContents,
  release: SourceRelease,
): Promise<boolean> => {
  const { content, authors, report, startedAt } = migration
  const { id, tag_name: tag, target_commitish: target, name, body, draft, prerelease, assets } = release
  const label = `${given.full_name} ${tag}`
  return succeeds(report, `the release ${label}`, async () => {
    const author = await authors.find(release.author)
    const createdAt = release.created_at ?? startedAt
    const publishedAt = draft ? null : (release.published_at ?? createdAt)
    const values = { tag, target, name, body, draft, prerelease, createdAt, publishedAt }
    const record = { ...values, repository: repository.id, author: author.id }
    const written = { kind: 'release', name: String(id), label, author, values, assets } as const
    await giveWritten(migration, contents, written, (origin, copy) =>
      content.saveRelease(record, origin, copy),
    )
  })
}
