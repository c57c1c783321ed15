import * as v from 'valibot'
import type { Tag as GitTag } from '../../git/objects/parse.ts'
import { encodePath } from '../../host-pages/html-urls.ts'
import { NotFound } from '../../http/index.ts'
import { readCommits, readTags } from '../../repositories/contents/commits.ts'
import type { OpenRepository } from '../../repositories/contents/open-repository.ts'
import { findTag, listTags, type Ref, shortName } from '../../repositories/contents/refs.ts'
import { number, text, timestamp } from '../fields.ts'
import { pageOf, reply, route, type Services } from '../route.ts'
import { type ContentsRequest, openIn, read } from './access.ts'
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
  route({
    ...read,
    method: 'GET',
    path: '/repos/{owner}/{repo}/tags',
    operationId: 'repoListTags',
    summary: "A repository's tags, the newest first",
    paging: 'pages',
    responses: { 200: v.array(Tag), 404: NotFound },
    handle: async (request, services) => {
      const found = await openTag(services, request)
      if (found === undefined) return reply(404)
      const { items, total } = await listTags(found.open, request.page)
      return pageOf(await presentTags(found.open, found.urls, items), total)
    },
  }),
  route({
    ...read,
    method: 'GET',
    path: '/repos/{owner}/{repo}/tags/{tag}',
    takesRest: true,
    operationId: 'repoGetTag',
    summary: 'A tag, by its name',
    responses: { 200: Tag, 404: NotFound },
    handle: async (request, services) => {
      const found = await openTag(services, request)
      const ref = found && (await findTag(found.open, request.params.tag))
      if (ref === undefined) return reply(404)
      const [tag] = await presentTags(found!.open, found!.urls, [ref])
      return reply(200, tag!)
    },
  }),
  route({
    ...read,
    method: 'GET',
    path: '/repos/{owner}/{repo}/git/tags/{sha}',
    operationId: 'GetAnnotatedTag',
    summary: 'An annotated tag, by its id',
    responses: { 200: AnnotatedTag, 404: NotFound },
    handle: async (request, services) => {
      const found = await openTag(services, request)
      if (found === undefined) return reply(404)
      const [tag] = await readTags(found.open, [request.params.sha])
      return tag === undefined ? reply(404) : reply(200, presentAnnotated(tag, found.urls))
    },
  }),
]
