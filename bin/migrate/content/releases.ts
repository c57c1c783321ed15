import { withdraw } from '../copies.ts'
import { apiPath, ifAvailable, isDeleted, type Migration, reportErrors, succeeds } from '../migration.ts'
import { textOf } from '../names/index.ts'
import { type CopiedRepository, repositoryPath } from '../repositories.ts'
import { SourceRelease } from '../shapes.ts'
import { type Contents, giveContent, openContents, valuesOf } from './contents.ts'
import { copyAttachments } from './issues.ts'

const NOT_SHOWN = 'releases, which the source has turned off or does not show'

/** Copies the releases of a repository, drafts too, with their files. */
export const copyReleases = (migration: Migration, copied: CopiedRepository): Promise<void> =>
  reportErrors(migration.report, `the releases of ${copied.given.full_name}`, async () => {
    const { source, report } = migration
    const scope = textOf(copied.key)
    const path = `${repositoryPath(copied.given)}/releases`
    const found = await ifAvailable(source.list(SourceRelease, path))
    if (found === undefined) {
      if (!source.isAllot) report.note('notCopied', NOT_SHOWN, copied.given.full_name)
      return
    }
    const attachment = `${scope}/releases`
    const releases = await openContents(migration, 'release', scope, { attachment })
    const files = await openContents(migration, 'attachment', attachment)
    let isComplete = true
    // Those of the same second are listed in the order of their ids.
    for (const release of found.reverse())
      if (!(await copyRelease(migration, copied, { releases, files }, release))) isComplete = false
    if (!isComplete) return
    await withdraw(migration, files.things, files.seen)
    await withdraw(migration, releases.things, releases.seen, (id) =>
      isDeleted(migration, path + apiPath(id)),
    )
  })

/** @returns whether everything was copied */
const copyRelease = (
  migration: Migration,
  { repository, given }: CopiedRepository,
  { releases, files }: { releases: Contents; files: Contents },
  release: SourceRelease,
): Promise<boolean> => {
  const { content, authors, report, startedAt } = migration
  const { id: sourceId, tag_name: tag, target_commitish: target, name, body, draft, prerelease } = release
  const label = `${given.full_name} ${tag}`
  return succeeds(report, `the release ${label}`, async () => {
    const author = await authors.find(release.author)
    const createdAt = release.created_at ?? startedAt
    const publishedAt = draft ? null : (release.published_at ?? createdAt)
    const texts = { tag, target, name, body, draft, prerelease }
    const values = { ...texts, createdAt, publishedAt }
    const record = { ...values, repository: repository.id, author: author.id }
    const id = await giveContent(migration, releases, {
      ...{ name: String(sourceId), label, values: valuesOf('release', values, author) },
      create: (origin) => content.saveRelease(record, origin),
      edit: (copy, _, origin) => content.saveRelease(record, origin, copy.id),
    })
    if (id === undefined) return
    const attached = {
      on: 'release',
      targetId: id,
      uploader: author.id,
      label,
      assets: release.assets,
    } as const
    await copyAttachments(migration, files, attached)
  })
}
