import { Readable } from 'node:stream'
import type { Identity } from '../../accounts/access.ts'
import { AllotError } from '../../errors.ts'
import { lfsPointerIn } from '../../git/lfs-pointers.ts'
import { MODES } from '../../git/objects/parse.ts'
import {
  Download,
  dispositionOf,
  Empty,
  fileReply,
  NotFound,
  type OpenDownload,
  type StreamReply,
  type StreamRequest,
} from '../../http/index.ts'
import { type FoundEntry, findEntry, sizesOf, typeOfContent } from '../../repositories/contents/files.ts'
import {
  commitOf,
  type OpenCommit,
  type OpenRepository,
} from '../../repositories/contents/open-repository.ts'
import { findTree } from '../../repositories/contents/trees.ts'
import { reply, route, type Services, type StreamServices, stream } from '../route.ts'
import { type ContentsRequest, openAt, openIn, processReply, read, refQuery } from './access.ts'
import { requireReadable } from './protocol.ts'

/** Bytes of a file that is read into memory; larger ones are streamed. */
const MAX_BUFFERED = 1024 * 1024

/** A file of a commit, as it is in git. */
const downloadFile =
  (open: OpenCommit, { path, entry }: FoundEntry): OpenDownload =>
  async ({ headers, signal }) => {
    const { git, access } = open
    const [size = 0] = await sizesOf(open, [entry])
    const name = path.slice(path.lastIndexOf('/') + 1)
    const content = size <= MAX_BUFFERED ? (await git.object(access, entry.id))?.content : undefined
    return fileReply(headers, {
      size,
      tag: entry.id,
      name,
      type: typeOfContent(content),
      async read(range = { start: 0, end: size - 1 }) {
        if (content !== undefined) return Readable.from([content.subarray(range.start, range.end + 1)])
        const child = await git.start(access, 'cat-file', ['blob', entry.id], signal)
        child.stdin.end()
        return Readable.from(partOf(child.stdout, range, size), { objectMode: false })
      },
    })
  }

/** Fails when the stream ends early, so that the client does not take the part for the whole. */
async function* partOf(
  source: Readable,
  { start, end }: { start: number; end: number },
  size: number,
): AsyncGenerator<Buffer> {
  let position = 0
  for await (const chunk of source as AsyncIterable<Buffer>) {
    const part = chunk.subarray(Math.max(start - position, 0), Math.max(end + 1 - position, 0))
    position += chunk.length
    if (part.length > 0) yield part
    if (position > end) return
  }
  if (position < size) throw new Error(`git was stopped after ${position} of ${size} bytes`)
}

type FileRequest = ContentsRequest & {
  readonly params: { readonly filepath: string }
  readonly query: { readonly ref?: string | undefined }
}

const findFile = async (services: Services, request: FileRequest) => {
  const open = await openAt(services, request, request.query.ref ?? '')
  const found = open && (await findEntry(open, request.params.filepath))
  const isFile =
    found !== undefined && found.entry.mode !== MODES.tree && found.entry.mode !== MODES.submodule
  return isFile ? { open: open!, found } : undefined
}

/** The LFS object that a file stands for, when the repository has it. */
const lfsObjectOf = async ({ hosting }: Services, open: OpenCommit, { entry }: FoundEntry) => {
  const [size = 0] = await sizesOf(open, [entry])
  if (size > MAX_BUFFERED) return undefined
  const pointer = lfsPointerIn((await open.git.object(open.access, entry.id))!.content)
  const [object] = pointer === undefined ? [] : await hosting.lfs.find(open.repository.id, [pointer.oid])
  return object && { object, oid: pointer!.oid }
}

const responses = { 200: Download, 206: Download, 404: NotFound, 416: Empty } as const

/** Content types by the format of git-archive. Tags name the URLs of their archives (`archiveUrls`). */
const ARCHIVE_TYPES = { zip: 'application/zip', 'tar.gz': 'application/gzip' }
type Format = keyof typeof ARCHIVE_TYPES

/** @param archive such as `main.zip` or `v1.0.tar.gz`; undefined when there is no such reference */
const findArchive = async (open: OpenRepository, archive: string): Promise<OpenDownload | undefined> => {
  const formats = Object.keys(ARCHIVE_TYPES) as Format[]
  const format = formats.find((ending) => archive.endsWith(`.${ending}`))
  const ref = archive.slice(0, -(format?.length ?? 0) - 1)
  if (format === undefined || ref === '') return undefined
  // A tag can be of a tree.
  const id = (await commitOf(open, ref)) ?? (await findTree(open, ref))?.id
  return id === undefined ? undefined : async ({ signal }) => archiveReply(open, { id, ref, format }, signal)
}

interface Archive {
  /** Of a commit or a tree. */
  readonly id: string
  /** Name in the request. */
  readonly ref: string
  readonly format: Format
}

/** Streamed as git makes it, and stored nowhere. */
const archiveReply = (
  { repository, git, access }: OpenRepository,
  { id, ref, format }: Archive,
  signal: AbortSignal,
): StreamReply => {
  const args = [`--format=${format}`, `--prefix=${repository.name}/`, id]
  const fileName = `${repository.name}-${ref.replaceAll('/', '-')}.${format}`
  return processReply(() => git.start(access, 'archive', args, signal), {
    'Content-Type': ARCHIVE_TYPES[format],
    'Content-Disposition': dispositionOf({ fileName }),
  })
}

export const downloadFileRoutes = [
  route({
    ...read,
    method: 'GET',
    path: '/repos/{owner}/{repo}/raw/{filepath}',
    takesRest: true,
    operationId: 'repoGetRawFile',
    summary: 'The bytes of a file',
    query: refQuery,
    responses,
    handle: async (request, services) => {
      const file = await findFile(services, request)
      return file === undefined ? reply(404) : reply(200, downloadFile(file.open, file.found))
    },
  }),
  route({
    ...read,
    method: 'GET',
    path: '/repos/{owner}/{repo}/media/{filepath}',
    takesRest: true,
    operationId: 'repoGetRawFileOrLFS',
    summary: 'The bytes of a file, or of the LFS object that it stands for',
    query: refQuery,
    responses,
    handle: async (request, services) => {
      const file = await findFile(services, request)
      if (file === undefined) return reply(404)
      const lfs = await lfsObjectOf(services, file.open, file.found)
      if (lfs === undefined) return reply(200, downloadFile(file.open, file.found))
      const { object, oid } = lfs
      const read = (range?: { start: number; end: number }) => services.hosting.files.read(object, range)
      return reply(200, async ({ headers }) => fileReply(headers, { size: object.size, tag: oid, read }))
    },
  }),
  route({
    ...read,
    method: 'GET',
    path: '/repos/{owner}/{repo}/archive/{archive}',
    takesRest: true,
    operationId: 'repoGetArchive',
    summary: 'An archive of a branch, a tag or a commit: zip or tar.gz, by the ending of the name',
    responses: { 200: Download, 404: NotFound },
    handle: async (request, services) => {
      const open = await openIn(services, request)
      const archive = open && (await findArchive(open, request.params.archive))
      return archive === undefined ? reply(404) : reply(200, archive)
    },
  }),
]

/** Serves an archive at the URL that tags name. */
const archive = async (
  request: StreamRequest<Identity, 'owner' | 'repo' | 'archive'>,
  services: StreamServices,
): Promise<StreamReply> => {
  const repository = await requireReadable(services, request)
  const open = services.hosting.contents!.of(repository, request.client())
  const found = await findArchive(open, request.params.archive)
  if (found === undefined) throw new AllotError('not_found', 'there is no such branch, tag or commit')
  return found(request)
}

export const archiveRoutes = (['GET', 'HEAD'] as const).map((method) =>
  stream({ method, path: '/{owner}/{repo}/archive/{archive}', takesRest: true, handle: archive }),
)
