import type { Identity } from '../../accounts/access.ts'
import { fileOfCommit } from '../../content/downloads.ts'
import { existing } from '../../errors.ts'
import { MODES } from '../../git/objects/parse.ts'
import {
  Download,
  dispositionOf,
  Empty,
  fileReply,
  type OpenDownload,
  type StreamReply,
  type StreamRequest,
} from '../../http/index.ts'
import { findEntry } from '../../repositories/contents/files.ts'
import { commitOf, type OpenRepository } from '../../repositories/contents/open-repository.ts'
import { findTree } from '../../repositories/contents/trees.ts'
import { type Services, stream } from '../route.ts'
import { type ContentsRequest, openAt, openIn, processReply, refQuery, repositories } from './access.ts'
import { requireReadable } from './protocol.ts'

type FileRequest = ContentsRequest & {
  readonly params: { readonly filepath: string }
  readonly query: { readonly ref?: string | undefined }
}

const findFile = async (services: Services, request: FileRequest) => {
  const open = await openAt(services, request, request.query.ref ?? '')
  const found = await findEntry(open, request.params.filepath)
  const isFile =
    found !== undefined && found.entry.mode !== MODES.tree && found.entry.mode !== MODES.submodule
  return isFile ? { open, found } : undefined
}

/**
 * Replies with a file.
 * @param withLfs whether to send the LFS object that it stands for
 */
const fileOf = async (services: Services, request: FileRequest, withLfs: boolean) => {
  const file = await findFile(services, request)
  if (file === undefined) return undefined
  const lfs = withLfs ? services.hosting : undefined
  const open: OpenDownload = async ({ headers, signal }) =>
    fileReply(headers, await fileOfCommit(file.open, file.found, signal, lfs))
  return open
}

/** Replies to requests for a range. */
const partial = { 206: Download, 416: Empty } as const

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
  repositories.get('repoGetRawFile', '/raw/{filepath}', {
    takesRest: true,
    summary: 'The bytes of a file',
    query: refQuery,
    of: Download,
    also: partial,
    run: (request, services) => fileOf(services, request, false),
  }),
  repositories.get('repoGetRawFileOrLFS', '/media/{filepath}', {
    takesRest: true,
    summary: 'The bytes of a file, or of the LFS object that it stands for',
    query: refQuery,
    of: Download,
    also: partial,
    run: (request, services) => fileOf(services, request, true),
  }),
  repositories.get('repoGetArchive', '/archive/{archive}', {
    takesRest: true,
    summary: 'An archive of a branch, a tag or a commit: zip or tar.gz, by the ending of the name',
    of: Download,
    run: async (request, services) => findArchive(await openIn(services, request), request.params.archive),
  }),
]

/** Serves an archive at the URL that tags name. */
const archive = async (
  request: StreamRequest<Identity, 'owner' | 'repo' | 'archive'>,
  services: Services,
): Promise<StreamReply> => {
  const repository = await requireReadable(services, request)
  const open = services.hosting.contents!.of(repository, request.client())
  const found = existing(
    await findArchive(open, request.params.archive),
    'there is no such branch, tag or commit',
  )
  return found(request)
}

export const archiveRoutes = [
  stream({ method: 'GET', path: '/{owner}/{repo}/archive/{archive}', takesRest: true, handle: archive }),
]
