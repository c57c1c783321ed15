import * as v from 'valibot'
import type { Commit as GitCommit, Tag as GitTag } from '../../git/objects/parse.ts'
import { encodePath } from '../../host-pages/html-urls.ts'
import { readCommits, readTags } from '../../repositories/contents/commits.ts'
import type { OpenRepository } from '../../repositories/contents/open-repository.ts'
import { findTag, listTags, type Ref, shortName } from '../../repositories/contents/refs.ts'
import { link, number, text } from '../fields.ts'
import type { RepositoryUrls } from '../repository-presenter.ts'
import type { Recipient, Services } from '../route.ts'
import { resource } from '../view.ts'
import { openIn, repositories } from './access.ts'
import {
  CommitMeta,
  CommitUser,
  metaOf,
  presentPerson,
  presentVerification,
  Sha,
  urlsOf,
  Verification,
} from './schema.ts'

const archiveDownloads = [
  v.object({ zip: number(0), tar_gz: number(0) }),
  () => ({ zip: 0, tar_gz: 0 }),
] as const

/** URL of an archive of a tag; empty for a tag of a blob, which has none. */
const archiveUrl = ({ ref, urls }: TagDetails, ending: string) =>
  ref.targetType === 'blob' ? '' : `${urls.base}/archive/${encodePath(shortName(ref))}.${ending}`

interface TagDetails {
  readonly ref: Ref
  readonly urls: RepositoryUrls
  /** Undefined for a tag that is not annotated. */
  readonly tag: GitTag | undefined
  /** Undefined for a tag of something else. */
  readonly commit: GitCommit | undefined
}

const tagView = resource<TagDetails>()({
  name: [text('v1.0'), ({ ref }) => shortName(ref)],
  message: [text('Version 1.0'), ({ tag, commit }) => (tag ?? commit)?.message.trim() ?? ''],
  id: [Sha, ({ ref }) => ref.id],
  commit: [
    v.nullable(CommitMeta),
    ({ commit, urls }) => (commit === undefined ? null : metaOf(urls, commit)),
  ],
  zipball_url: [link('/alice/app/archive/v1.0.zip'), (details) => archiveUrl(details, 'zip')],
  tarball_url: [link('/alice/app/archive/v1.0.tar.gz'), (details) => archiveUrl(details, 'tar.gz')],
  archive_download_count: archiveDownloads,
})
export const Tag = tagView.schema

const annotatedTag = resource<GitTag & { readonly urls: RepositoryUrls }>()({
  tag: [text('v1.0'), ({ name }) => name],
  sha: [Sha, ({ id }) => id],
  url: [
    link('/api/v1/repos/alice/app/git/tags/2e1cfa82b035c26cbbbdae632cea070514eb8b77'),
    ({ id, urls }) => `${urls.api}/git/tags/${id}`,
  ],
  message: [text('Version 1.0\n'), ({ message }) => message],
  tagger: [v.nullable(CommitUser), ({ tagger }) => (tagger === undefined ? null : presentPerson(tagger))],
  object: [
    v.object({ type: text('commit'), url: CommitMeta.entries.url, sha: Sha }),
    ({ object: { type, id }, urls }) => ({ type, url: `${urls.api}/git/${type}s/${id}`, sha: id }),
  ],
  verification: [Verification, ({ signature }) => presentVerification(signature)],
  archive_download_count: archiveDownloads,
})

export const presentTags = async (
  services: Services,
  recipient: Recipient,
  open: OpenRepository,
  refs: readonly Ref[],
): Promise<v.InferOutput<typeof Tag>[]> => {
  const urls = await urlsOf(services, open.repository, recipient)
  const annotated = refs.filter(({ type }) => type === 'tag').map(({ id }) => id)
  const tags = new Map((await readTags(open, annotated)).map((tag) => [tag.id, tag]))
  const targets = refs.map(({ target }) => target)
  const commits = new Map((await readCommits(open, targets)).map((commit) => [commit.id, commit]))
  return refs.map((ref) =>
    tagView.present({ ref, urls, tag: tags.get(ref.id), commit: commits.get(ref.target) }, recipient),
  )
}

export const tagRoutes = [
  repositories.list('repoListTags', '/tags', {
    summary: "A repository's tags, the newest first",
    of: Tag,
    run: async (request, services) => {
      const open = await openIn(services, request)
      const { items, total } = await listTags(open, request.page)
      return { items: await presentTags(services, request, open, items), total }
    },
  }),
  repositories.get('repoGetTag', '/tags/{tag}', {
    takesRest: true,
    summary: 'A tag, by its name',
    of: Tag,
    run: async (request, services) => {
      const open = await openIn(services, request)
      const ref = await findTag(open, request.params.tag)
      return ref && (await presentTags(services, request, open, [ref]))[0]
    },
  }),
  repositories.get('GetAnnotatedTag', '/git/tags/{sha}', {
    summary: 'An annotated tag, by its id',
    of: annotatedTag,
    run: async (request, services) => {
      const open = await openIn(services, request)
      const [tag] = await readTags(open, [request.params.sha])
      return tag && { ...tag, urls: await urlsOf(services, open.repository, request) }
    },
  }),
]
