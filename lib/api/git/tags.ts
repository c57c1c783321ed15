import * as v from 'valibot'
import type { Tag as GitTag } from '../../git/objects/parse.ts'
import { encodePath } from '../../host-pages/html-urls.ts'
import { readCommits, readTags } from '../../repositories/contents/commits.ts'
import type { OpenRepository } from '../../repositories/contents/open-repository.ts'
import { findTag, listTags, type Ref, shortName } from '../../repositories/contents/refs.ts'
import { number, text, timestamp } from '../fields.ts'
import type { Services } from '../route.ts'
import { type ContentsRequest, openIn, repositories } from './access.ts'
import {
  CommitMeta,
  CommitUser,
  commitUrl,
  presentPerson,
  presentVerification,
  type RepositoryUrls,
  Sha,
  urlsOf,
  Verification,
} from './schema.ts'

const archiveCounts = v.object({ zip: number(0), tar_gz: number(0) })

export const Tag = v.object({
  name: text('v1.0'),
  message: text('Version 1.0'),
  id: Sha,
  commit: v.nullable(CommitMeta),
  zipball_url: text('https://code.example.org/alice/app/archive/v1.0.zip'),
  tarball_url: text('https://code.example.org/alice/app/archive/v1.0.tar.gz'),
  archive_download_count: archiveCounts,
})

const AnnotatedTag = v.object({
  tag: text('v1.0'),
  sha: Sha,
  url: text(
    'https://code.example.org/api/v1/repos/alice/app/git/tags/2e1cfa82b035c26cbbbdae632cea070514eb8b77',
  ),
  message: text('Version 1.0\n'),
  tagger: v.nullable(CommitUser),
  object: v.object({ type: text('commit'), url: CommitMeta.entries.url, sha: Sha }),
  verification: Verification,
  archive_download_count: archiveCounts,
})

const NO_DOWNLOADS = { zip: 0, tar_gz: 0 }

/** URLs of the archives of a tag; empty for a tag of a blob, which has none. */
const archiveUrls = ({ base }: Pick<RepositoryUrls, 'base'>, ref: Ref) => {
  if (ref.targetType === 'blob') return { zipball_url: '', tarball_url: '' }
  const url = `${base}/archive/${encodePath(shortName(ref))}`
  return { zipball_url: `${url}.zip`, tarball_url: `${url}.tar.gz` }
}

export const presentTags = async (
  open: OpenRepository,
  urls: RepositoryUrls,
  refs: readonly Ref[],
): Promise<v.InferOutput<typeof Tag>[]> => {
  const annotated = refs.filter(({ type }) => type === 'tag').map(({ id }) => id)
  const tags = new Map((await readTags(open, annotated)).map((tag) => [tag.id, tag]))
  const targets = refs.map(({ target }) => target)
  const commits = new Map((await readCommits(open, targets)).map((commit) => [commit.id, commit]))
  return refs.map((ref) => {
    const commit = commits.get(ref.target)
    return {
      name: shortName(ref),
      message: (tags.get(ref.id) ?? commit)?.message.trim() ?? '',
      id: ref.id,
      commit:
        commit === undefined
          ? null
          : { url: commitUrl(urls, commit.id), sha: commit.id, created: timestamp(commit.committer.time) },
      ...archiveUrls(urls, ref),
      archive_download_count: NO_DOWNLOADS,
    }
  })
}

const presentAnnotated = (
  { id, name, message, tagger, object }: GitTag,
  urls: RepositoryUrls,
): v.InferOutput<typeof AnnotatedTag> => ({
  tag: name,
  sha: id,
  url: `${urls.api}/git/tags/${id}`,
  message,
  tagger: tagger === undefined ? null : presentPerson(tagger),
  object: { type: object.type, url: `${urls.api}/git/${object.type}s/${object.id}`, sha: object.id },
  verification: presentVerification(undefined),
  archive_download_count: NO_DOWNLOADS,
})

const openTag = async (services: Services, request: ContentsRequest) => {
  const open = await openIn(services, request)
  return open && { open, urls: await urlsOf(services, open.repository, request) }
}

export const tagRoutes = [
  repositories.list('repoListTags', '/tags', {
    summary: "A repository's tags, the newest first",
    of: Tag,
    run: async (request, services) => {
      const found = await openTag(services, request)
      if (found === undefined) return undefined
      const { items, total } = await listTags(found.open, request.page)
      return { items: await presentTags(found.open, found.urls, items), total }
    },
  }),
  repositories.get('repoGetTag', '/tags/{tag}', {
    takesRest: true,
    summary: 'A tag, by its name',
    of: Tag,
    run: async (request, services) => {
      const found = await openTag(services, request)
      const ref = found && (await findTag(found.open, request.params.tag))
      if (ref === undefined) return undefined
      const [tag] = await presentTags(found!.open, found!.urls, [ref])
      return tag
    },
  }),
  repositories.get('GetAnnotatedTag', '/git/tags/{sha}', {
    summary: 'An annotated tag, by its id',
    of: AnnotatedTag,
    run: async (request, services) => {
      const found = await openTag(services, request)
      const [tag] = found ? await readTags(found.open, [request.params.sha]) : []
      return tag && presentAnnotated(tag, found!.urls)
    },
  }),
]
