import * as v from 'valibot'
import { lfsPointerIn } from '../../git/lfs-pointers.ts'
import { MODES, OBJECT_ID, type TreeEntry } from '../../git/objects/parse.ts'
import { pathText } from '../../git/text.ts'
import { encodePath } from '../../host-pages/html-urls.ts'
import { type RouteRequest, SerializedJson } from '../../http/index.ts'
import { lastCommitOf } from '../../repositories/contents/commits.ts'
import {
  contentOf,
  type FoundEntry,
  findEntry,
  listFolder,
  type SizedEntry,
  sizesOf,
  submoduleUrls,
} from '../../repositories/contents/files.ts'
import type { OpenCommit } from '../../repositories/contents/open-repository.ts'
import * as f from '../fields.ts'
import { type RepositoryUrls, repositoryUrls } from '../repository-presenter.ts'
import type { Services } from '../route.ts'
import { contentsIn, type LargeRequest, openAt, refQuery, repositories } from './access.ts'
import { API, ID, Sha } from './schema.ts'

const contentUrl = f.link(`${API}/contents/README.md?ref=main`)
const blobUrl = f.link(`${API}/git/blobs/${ID}`)
const pageUrl = f.link('/alice/app/src/branch/main/README.md')

export const ContentsResponse = v.object({
  name: f.text('README.md'),
  path: f.text('README.md'),
  sha: Sha,
  /** Null for the entries of a folder. */
  last_commit_sha: v.nullable(Sha),
  type: f.example(v.picklist(['file', 'dir', 'symlink', 'submodule']), 'file'),
  size: f.number(12),
  /** Null for everything but files, and in lists. */
  encoding: v.nullable(v.literal('base64')),
  content: v.nullable(f.text('IyBhcHAK')),
  /** Target of a symbolic link; null for anything else. */
  target: v.nullable(v.string()),
  url: contentUrl,
  html_url: pageUrl,
  git_url: v.nullable(blobUrl),
  download_url: v.nullable(f.link(`${API}/raw/README.md?ref=main`)),
  submodule_git_url: v.nullable(v.string()),
  _links: v.object({ self: contentUrl, git: v.nullable(blobUrl), html: pageUrl }),
  /** Id of the LFS object that the file stands for; absent for other files. */
  lfs_oid: v.optional(v.string()),
  lfs_size: v.optional(v.number()),
})
export type ContentsResponse = v.InferOutput<typeof ContentsResponse>

type Type = ContentsResponse['type']

const typeOf = ({ mode }: TreeEntry): Type => {
  if (mode === MODES.tree) return 'dir'
  if (mode === MODES.submodule) return 'submodule'
  return mode === MODES.symlink ? 'symlink' : 'file'
}

/** The parts of an entry's URLs. */
interface EntryContext {
  readonly urls: RepositoryUrls
  /** Name of the reference as the client wrote it. */
  readonly ref: string
}

/** How pages name a reference: as a commit when it is an id. */
const pageOfRef = (ref: string): string =>
  OBJECT_ID.test(ref) ? `commit/${ref}` : `branch/${encodePath(ref)}`

/** @param submodules addresses of submodules, by path */
const presentEntry = (
  { path, entry, size }: SizedEntry,
  { urls, ref }: EntryContext,
  submodules: ReadonlyMap<string, string>,
): ContentsResponse => {
  const type = typeOf(entry)
  const query = `?ref=${encodeURIComponent(ref)}`
  const url = `${urls.api}/contents/${encodePath(path)}${query}`
  const gitKind = type === 'dir' ? 'trees' : 'blobs'
  const git = type === 'submodule' ? null : `${urls.api}/git/${gitKind}/${entry.id}`
  const html = `${urls.html}/src/${pageOfRef(ref)}/${encodePath(path)}`
  const isFile = type === 'file' || type === 'symlink'
  return {
    name: entry.name,
    path,
    sha: entry.id,
    last_commit_sha: null,
    type,
    size,
    encoding: null,
    content: null,
    target: null,
    url,
    html_url: html,
    git_url: git,
    download_url: isFile ? `${urls.api}/raw/${encodePath(path)}${query}` : null,
    submodule_git_url: type === 'submodule' ? (submodules.get(path) ?? null) : null,
    _links: { self: url, git, html },
  }
}

/** Addresses of the submodules among some entries, by path. */
const submodulesAmong = async (
  open: OpenCommit,
  entries: readonly FoundEntry[],
): Promise<ReadonlyMap<string, string>> =>
  entries.some(({ entry }) => entry.mode === MODES.submodule) ? submoduleUrls(open) : new Map()

/**
 * A file, symbolic link or submodule, with its content.
 * @param search for its last commit, when it has begun
 */
export const presentFile = async (
  open: OpenCommit,
  found: FoundEntry,
  context: EntryContext,
  search?: Promise<string | undefined>,
): Promise<ContentsResponse> => {
  const lastCommit = search ?? lastCommitOf(open, found.path)
  // The content may fail before the search is awaited.
  lastCommit.catch(() => undefined)
  const { size, content } = await sizeAndContentOf(open, found)
  const submodules = await submodulesAmong(open, [found])
  const presented = {
    ...presentEntry({ ...found, size }, context, submodules),
    last_commit_sha: (await lastCommit) ?? null,
  }
  if (content === undefined) return presented
  if (presented.type === 'symlink') return { ...presented, target: pathText(content) }
  const pointer = lfsPointerIn(content)
  return {
    ...presented,
    encoding: 'base64',
    content: content.toString('base64'),
    ...(pointer === undefined ? {} : { lfs_oid: pointer.oid, lfs_size: pointer.size }),
  }
}

/** The content is undefined for submodules, and for what is too large to be read at once. */
const sizeAndContentOf = async (open: OpenCommit, found: FoundEntry) => {
  const [size = 0] = await sizesOf(open, [found.entry])
  const isRead = found.entry.mode !== MODES.submodule && size <= open.git.maxObjectSize
  return { size, content: isRead ? await contentOf(open, found.entry) : undefined }
}

/** A reply that is not made yet, and about how many bytes it has. */
interface Unmade {
  readonly bytes: number
  readonly make: () => ContentsResponse | ContentsResponse[]
}

/** Bytes of an entry of a folder in a reply, besides its path. */
const ENTRY_BYTES = 700

const presentFolder = async (open: OpenCommit, found: FoundEntry, context: EntryContext): Promise<Unmade> => {
  const entries = await listFolder(open, found)
  const submodules = await submodulesAmong(open, entries)
  return {
    bytes: entries.length * ENTRY_BYTES,
    make: () => entries.map((entry) => presentEntry(entry, context, submodules)),
  }
}

/** Bytes of a folder that takes about as long to read as the history of one of its files. */
const LARGE_FOLDER = 256 * 1024

/**
 * The file or the folder at a path. In a large folder, the last commit of a file is searched while the file
 * is found.
 */
const presentPath = async (
  open: OpenCommit,
  path: string,
  context: EntryContext,
): Promise<Unmade | undefined> => {
  const ended = new AbortController()
  let search: Promise<string | undefined> | undefined
  try {
    const found = await findEntry(open, path, ({ size }, wanted) => {
      if (size > LARGE_FOLDER && wanted !== '') search = lastCommitOf(open, wanted, ended.signal)
      // A search that is ended fails.
      search?.catch(() => undefined)
    })
    if (found === undefined) return undefined
    if (found.entry.mode === MODES.tree) return await presentFolder(open, found, context)
    const file = await presentFile(open, found, context, search)
    return { bytes: file.content?.length ?? 0, make: () => file }
  } finally {
    ended.abort()
  }
}

type FolderRequest = LargeRequest &
  Pick<RouteRequest, 'keptWith'> & { readonly query: { readonly ref?: string | undefined } }

/** Caches what the last request for these contents of a commit got. */
const readContents = async (services: Services, request: FolderRequest, path: string) => {
  const contents = contentsIn(services)
  const open = await openAt(services, request, request.query.ref ?? '')
  request.keptWith(open.madeOf)
  const ref = request.query.ref || open.repository.defaultBranch
  // A rename can change only the case of a name, and the old URL still works: the key has the names of now.
  const urls = repositoryUrls(open, request)
  const key = ['contents', urls.api, urls.html, ref, path]
  return contents.cached(open, key, async () => {
    const presented = await presentPath(open, path, { urls, ref })
    return presented && request.inTurn(presented.bytes, () => SerializedJson.ready(presented.make))
  })
}

const contentsResponses = v.union([ContentsResponse, v.array(ContentsResponse)])

export const fileRoutes = [
  repositories.get('repoGetContentsList', '/contents', {
    summary: 'The entries of the root folder',
    query: refQuery,
    of: contentsResponses,
    run: (request, services) => readContents(services, request, ''),
  }),
  repositories.get('repoGetContents', '/contents/{filepath}', {
    takesRest: true,
    summary: 'A file with its content, or the entries of a folder',
    query: refQuery,
    of: contentsResponses,
    also: [422],
    run: (request, services) => readContents(services, request, request.params.filepath),
  }),
]
