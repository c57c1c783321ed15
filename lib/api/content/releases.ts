import * as v from 'valibot'
import { type ContentDetails, contentDetails } from '../../content/details.ts'
import type { FoundRelease, ReleaseEdit } from '../../content/releases.ts'
import type { Release as ReleaseRecord } from '../../records/schema/index.ts'
import * as f from '../fields.ts'
import { repositoryUrls } from '../repository-presenter.ts'
import { at, type Recipient } from '../route.ts'
import { resource } from '../view.ts'
import { assets } from './attachments.ts'
import { author, pageIn, viewInRepository } from './found.ts'

const urlOf = (details: ContentDetails<ReleaseRecord>, recipient: Recipient): string =>
  `${repositoryUrls(details, recipient).api}/releases/${details.record.id}`

const release = resource<ContentDetails<ReleaseRecord>>()({
  id: [f.number(10), ({ record }) => record.id],
  tag_name: [f.text('v1.0'), ({ record }) => record.tag],
  target_commitish: [f.text('main'), ({ record }) => record.target],
  name: [f.text('Version 1.0'), ({ record }) => record.name],
  body: [f.text('The first release.'), ({ record }) => record.body],
  url: [f.link('/api/v1/repos/alice/app/releases/10'), urlOf],
  html_url: [
    f.link('/alice/app/releases/tag/v1.0'),
    ({ owner, repository, record: { tag } }, { htmlUrls, baseUrl }) =>
      htmlUrls.of({ kind: 'release', owner: owner.name, repo: repository.name, tag }, baseUrl),
  ],
  /** Always empty: links to the archives are in the tag. */
  tarball_url: [f.text(''), () => ''],
  zipball_url: [f.text(''), () => ''],
  hide_archive_links: [f.example(v.boolean(), true), () => true],
  upload_url: [
    f.link('/api/v1/repos/alice/app/releases/10/assets'),
    (details, recipient) => `${urlOf(details, recipient)}/assets`,
  ],
  draft: [v.boolean(), ({ record }) => record.draft],
  prerelease: [v.boolean(), ({ record }) => record.prerelease],
  created_at: [f.Time, ({ record }) => f.timestamp(record.createdAt)],
  published_at: [v.nullable(f.Time), ({ record }) => f.timeOrNull(record.publishedAt)],
  author,
  assets,
  archive_download_count: [
    v.object({ zip: f.number(0), tar_gz: f.number(0) }),
    () => ({ zip: 0, tar_gz: 0 }),
  ],
})
export const Release = release.schema
export const presentRelease = release.present

const releaseView = viewInRepository(release, (tx, viewer, repository, found: readonly FoundRelease[]) => {
  const records = found.map(({ release }) => release)
  return contentDetails(tx, viewer, repository, 'release', records)
})

const options = {
  target_commitish: v.optional(f.shortText),
  name: v.optional(f.example(f.shortText, 'Version 1.0')),
  body: v.optional(f.example(f.longText, 'The first release.')),
  draft: v.optional(v.boolean()),
  prerelease: v.optional(v.boolean()),
}
const CreateReleaseOption = v.object({
  tag_name: v.pipe(f.text('v1.0'), v.minLength(1), v.maxLength(255)),
  ...options,
})
const EditReleaseOption = v.object({ tag_name: v.optional(f.shortText), ...options })

const editIn = (body: v.InferOutput<typeof EditReleaseOption>): f.Complete<ReleaseEdit> => {
  const { tag_name: tag, target_commitish: target, name, body: notes, draft, prerelease } = body
  return { tag, target, name, body: notes, draft, prerelease }
}

const releases = at('/repos/{owner}/{repo}/releases', { scope: 'repository', ids: { id: f.releaseId } })

export const releaseRoutes = [
  releases.list('repoListReleases', '', {
    summary: "A repository's releases, the newest first; drafts for those who may write to it",
    query: v.object({
      draft: f.optionalQuery(v.boolean(), 'Finds only drafts, or only others.'),
      'pre-release': f.optionalQuery(v.boolean(), 'Finds only prereleases, or only others.'),
    }),
    of: releaseView,
    run: async ({ user, repository, query, page }, { hosting }) => {
      const filter = { draft: query.draft, prerelease: query['pre-release'] }
      const found = await hosting.releases.list(user, repository, filter, page)
      return pageIn(found, (release) => ({ release }))
    },
  }),
  releases.post('repoCreateRelease', '', {
    summary: 'Make a release of a tag; the tag itself is pushed',
    body: CreateReleaseOption,
    of: releaseView,
    also: [409],
    run: ({ user, repository, body }, { hosting }) => {
      const release = { ...editIn(body), tag: body.tag_name }
      return hosting.releases.create(user, repository, release)
    },
  }),
  releases.get('repoGetLatestRelease', '/latest', {
    summary: 'The newest release that is neither a draft nor a prerelease',
    of: releaseView,
    run: ({ user, repository }, { hosting }) => hosting.releases.find(user, repository, 'latest'),
  }),
  releases.get('repoGetReleaseByTag', '/tags/{tag}', {
    summary: 'The release of a tag',
    of: releaseView,
    run: ({ user, repository, params }, { hosting }) =>
      hosting.releases.find(user, repository, { tag: params.tag }),
  }),
  releases.delete('repoDeleteReleaseByTag', '/tags/{tag}', {
    summary: 'Delete the release of a tag; the tag stays',
    run: ({ user, repository, params: { tag } }, { hosting }) =>
      hosting.releases.remove(user, repository, { tag }),
  }),
  releases.get('repoGetRelease', '/{id}', {
    summary: 'A release',
    of: releaseView,
    run: ({ user, repository, params: { id } }, { hosting }) =>
      hosting.releases.find(user, repository, { id }),
  }),
  releases.patch('repoEditRelease', '/{id}', {
    summary: 'Change a release, or publish a draft',
    body: EditReleaseOption,
    of: releaseView,
    also: [409],
    run: ({ user, repository, params, body }, { hosting }) => {
      // Clients written in Go send empty texts for what stays, and a Forgejo keeps it.
      const { body: notes, ...others } = editIn(body)
      const edit = { ...others, body: notes || undefined }
      return hosting.releases.edit(user, repository, params.id, edit)
    },
  }),
  releases.delete('repoDeleteRelease', '/{id}', {
    summary: 'Delete a release; the tag stays',
    run: ({ user, repository, params: { id } }, { hosting }) =>
      hosting.releases.remove(user, repository, { id }),
  }),
]
