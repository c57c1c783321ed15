import * as v from 'valibot'
import { OBJECT_ID } from '../../git/objects/parse.ts'
import { encodePath } from '../../host-pages/html-urls.ts'
import { SerializedJson } from '../../http/index.ts'
import type { Slice } from '../../records/pages.ts'
import { type Ref, refsBelow } from '../../repositories/contents/refs.ts'
import { readTree } from '../../repositories/contents/trees.ts'
import * as f from '../fields.ts'
import type { RepositoryUrls } from '../repository-presenter.ts'
import type { Services } from '../route.ts'
import { resource } from '../view.ts'
import { type LargeRequest, openIn, repositories } from './access.ts'
import { API, ID, Sha, urlsOf } from './schema.ts'

const reference = resource<Ref & { readonly urls: RepositoryUrls }>()({
  ref: [f.text('refs/heads/main'), ({ ref }) => ref],
  url: [f.link(`${API}/git/refs/heads/main`), ({ ref, urls }) => `${urls.api}/git/${encodePath(ref)}`],
  object: [
    v.object({
      type: f.text('commit'),
      sha: Sha,
      url: f.link(`${API}/git/commits/${ID}`),
    }),
    ({ id, type, urls }) => ({ type, sha: id, url: `${urls.api}/git/${type}s/${id}` }),
  ],
})

const GitTree = v.object({
  sha: Sha,
  url: f.link(`${API}/git/trees/${ID}`),
  tree: v.array(
    v.object({
      path: f.text('README.md'),
      mode: f.text('100644'),
      type: f.example(v.picklist(['blob', 'tree', 'commit']), 'blob'),
      size: f.number(12),
      sha: Sha,
      url: f.link(`${API}/git/blobs/${ID}`),
    }),
  ),
  /** Whether there are more entries on other pages. */
  truncated: v.boolean(),
  page: f.number(1),
  total_count: f.number(3),
})

/** Entries on a page of a tree, the default and the maximum: clients expect more than in other lists. */
export const TREE_PAGE = 1000

const GitBlob = v.object({
  content: v.nullable(f.text('IyBhcHAK')),
  encoding: v.nullable(v.literal('base64')),
  url: f.link(`${API}/git/blobs/${ID}`),
  sha: Sha,
  size: f.number(6),
})

/** References that a list without `page` and `limit` has, which is the first page of them. */
const MAX_REFS = 5000
/** Bytes of a reference as JSON beside its name, which it has twice. */
const BYTES_OF_REF = 300

/** One reference when it has exactly the name, else the list of those that begin with it. */
const listRefs = async (
  services: Services,
  request: LargeRequest & { readonly page: Slice },
  name: string,
) => {
  const open = await openIn(services, request)
  const { offset, limit } = request.page
  const { items, total } = await refsBelow(open, name, { offset, limit: Math.min(limit, MAX_REFS) })
  if (total === 0 && name !== '') return undefined
  const urls = await urlsOf(services, open.repository, request)
  const bytes = items.reduce((sum, { ref }) => sum + BYTES_OF_REF + 2 * ref.length, 0)
  const make = () => items.map((ref) => reference.present({ ...ref, urls }, request))
  const json = await request.inTurn(bytes, () => SerializedJson.ready(make))
  return { items: json, total }
}

/** 0 is the default, as in lists. */
const pageNumber = v.pipe(f.wholeNumber, v.minValue(0))

const treePageOf = ({ page, per_page: perPage, limit }: TreeQuery) => {
  const size = Math.min(perPage || limit || TREE_PAGE, TREE_PAGE)
  const number = page || 1
  return { number, offset: (number - 1) * size, limit: size }
}

interface TreeQuery {
  page?: number | undefined
  per_page?: number | undefined
  limit?: number | undefined
}

export const refRoutes = [
  repositories.list('repoListAllGitRefs', '/git/refs', {
    paging: 'whole',
    summary: 'All references, by name: without `page` and `limit`, at most 5,000',
    of: reference.schema,
    run: (request, services) => listRefs(services, request, ''),
  }),
  repositories.list('repoListGitRefs', '/git/refs/{ref}', {
    takesRest: true,
    paging: 'whole',
    summary:
      'The reference with a name, or those whose names begin with it: without `page` and `limit`, at most 5,000',
    of: reference.schema,
    run: (request, services) => listRefs(services, request, request.params.ref),
  }),
  repositories.get('GetTree', '/git/trees/{sha}', {
    summary: 'The entries of a tree, of a branch, a tag or a commit',
    query: v.object({
      recursive: f.optionalQuery(v.boolean(), 'Whether the trees below it are listed, too.'),
      page: f.optionalQuery(pageNumber, 'Number of the page, from 1.'),
      per_page: f.optionalQuery(pageNumber, 'Entries on a page: at most 1000, the default.'),
      limit: f.optionalQuery(pageNumber, 'The same as `per_page`.'),
    }),
    of: GitTree,
    run: async (request, services) => {
      const { params, query } = request
      const open = await openIn(services, request)
      const { number, ...slice } = treePageOf(query)
      const found = await readTree(open, params.sha, { ...slice, isRecursive: query.recursive === true })
      if (found === undefined) return undefined
      const { api } = await urlsOf(services, open.repository, request)
      const { id, items, total } = found
      return {
        sha: id,
        url: `${api}/git/trees/${id}`,
        tree: items.map(({ path, mode, type, size, id }) => {
          const url = type === 'commit' ? '' : `${api}/git/${type}s/${id}`
          return { path, mode, type, size, sha: id, url }
        }),
        truncated: slice.offset + items.length < total,
        page: number,
        total_count: total,
      }
    },
  }),
  repositories.get('GetBlob', '/git/blobs/{sha}', {
    summary: 'The content of a file, by its id',
    of: GitBlob,
    run: async (request, services) => {
      const { sha } = request.params
      const open = await openIn(services, request)
      if (!OBJECT_ID.test(sha)) return undefined
      const { git, access } = open
      const found = await git.find(access, sha)
      if (found?.type !== 'blob') return undefined
      const isSmall = found.size <= git.maxObjectSize
      const content = isSmall ? (await git.object(access, found.id))!.content : undefined
      const { api } = await urlsOf(services, open.repository, request)
      const { id, size } = found
      const about = { url: `${api}/git/blobs/${id}`, sha: id, size }
      if (content === undefined) return { content: null, encoding: null, ...about }
      const make = () => ({ content: content.toString('base64'), encoding: 'base64' as const, ...about })
      return request.inTurn(size, () => SerializedJson.ready(make))
    },
  }),
]
