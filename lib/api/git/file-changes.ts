import * as v from 'valibot'
import { LAST_SECOND, now } from '../../clock.ts'
import { invalid } from '../../errors.ts'
import type { PersonAtTime } from '../../git/objects/parse.ts'
import { readCommit } from '../../repositories/contents/commits.ts'
import {
  type CommitOptions,
  changeFiles,
  type FileOperation,
} from '../../repositories/contents/file-changes.ts'
import { findEntry } from '../../repositories/contents/files.ts'
import type { OpenCommit } from '../../repositories/contents/open-repository.ts'
import * as f from '../fields.ts'
import { Otherwise } from '../kit.ts'
import type { Recipient, Services } from '../route.ts'
import { type Changeable, openForPush, repositories } from './access.ts'
import { ContentsResponse, presentFile } from './files.ts'
import {
  CommitMeta,
  CommitUser,
  ID,
  metaOf,
  presentPerson,
  presentVerification,
  urlsOf,
  Verification,
} from './schema.ts'

const FileCommit = v.object({
  ...CommitMeta.entries,
  html_url: f.link('/alice/app/commit/2e1cfa82b035c26cbbbdae632cea070514eb8b77'),
  author: CommitUser,
  committer: CommitUser,
  parents: v.array(CommitMeta),
  message: f.text('Add README.md\n'),
  tree: CommitMeta,
})

const changed = { commit: FileCommit, verification: Verification }
const FileResponse = v.object({ content: ContentsResponse, ...changed })
const FileDeleteResponse = v.object({ content: v.null(), ...changed })
const FilesResponse = v.object({ files: v.array(v.nullable(ContentsResponse)), ...changed })

const GivenPerson = v.optional(v.object({ name: v.optional(f.shortText), email: v.optional(f.shortText) }))
const givenText = v.optional(v.pipe(v.string(), v.maxLength(255)))

const commitOptions = {
  /** The branch to change; the default branch when absent. */
  branch: givenText,
  /** A branch to make for the commit. */
  new_branch: givenText,
  force_push: v.optional(v.boolean()),
  message: v.optional(f.example(v.pipe(v.string(), v.maxLength(64 * 1024)), 'Add README.md')),
  author: GivenPerson,
  committer: GivenPerson,
  dates: v.optional(v.object({ author: v.optional(f.shortText), committer: v.optional(f.shortText) })),
  signoff: v.optional(v.boolean()),
}
type CommitBody = v.InferOutput<v.ObjectSchema<typeof commitOptions, undefined>>

/** Bytes of a body with files, which are a third larger as f.base64. */
const BODY_LIMIT = 16 * 1024 * 1024

const content = f.example(v.pipe(f.base64, v.maxLength(BODY_LIMIT)), 'IyBhcHAK')
/** Id of the blob that is changed, or of the head of the branch. */
const sha = v.optional(f.example(v.pipe(v.string(), v.maxLength(64)), ID))
const fromPath = v.optional(v.pipe(v.string(), v.maxLength(4096)))

const CreateFileOptions = v.object({ ...commitOptions, content })
const UpdateFileOptions = v.object({ ...commitOptions, content, sha, from_path: fromPath })
const DeleteFileOptions = v.object({ ...commitOptions, sha })
const ChangeFilesOptions = v.object({
  ...commitOptions,
  files: v.pipe(
    v.array(
      v.object({
        operation: f.example(v.picklist(['create', 'update', 'upload', 'rename', 'delete']), 'create'),
        path: f.text('README.md'),
        content: v.optional(content),
        sha,
        from_path: fromPath,
      }),
    ),
    v.minLength(1),
    v.maxLength(1000),
  ),
})

const bytesOf = (encoded: string | undefined): Buffer | undefined =>
  encoded === undefined ? undefined : Buffer.from(encoded, 'base64')

/** A day, or a time of it with or without its zone. */
const DATE = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(Z|([-+])(\d\d):(\d\d))?)?$/

/**
 * The time and its zone, which is UTC when it is not given. Clients written in Go send the year 1 for a time
 * that is not set.
 * @throws AllotError invalid
 */
const timeOf = (member: string, date: string | undefined): Pick<PersonAtTime, 'time' | 'offset'> => {
  if (!date || date.startsWith('0001-')) return { time: now(), offset: 0 }
  const match = DATE.exec(date)
  const [, zone, sign, hours = '0', minutes = '0'] = match ?? []
  // Without a zone, a time would be one of the place of the server.
  const time = Math.floor(Date.parse(zone === undefined && date.includes('T') ? `${date}Z` : date) / 1000)
  if (match === null || !f.exists(date) || !(time >= 0 && time <= LAST_SECOND))
    throw invalid(`dates.${member}: ${date} is not a time such as 2026-11-21T04:09:00+02:00`)
  const offset = Number(hours) * 60 + Number(minutes)
  return { time, offset: sign === '-' ? -offset : offset }
}

type Person = { name?: string | undefined; email?: string | undefined } | undefined

const isGiven = (person: Person): boolean => Boolean(person?.name || person?.email)

const commitOptionsOf = (body: CommitBody, { author: user }: Changeable, usual: string): CommitOptions => {
  const { author, committer, dates, signoff } = body
  // A person who is given alone is both author and committer.
  const personAs = (member: 'author' | 'committer', person: Person, fallback: Person): PersonAtTime => {
    const given = isGiven(person) ? person : fallback
    const [name, email] = [given?.name || user.name, given?.email || user.email]
    return { name, email, ...timeOf(member, dates?.[member]) }
  }
  const signed = personAs('committer', committer, author)
  const trailer = signoff === true ? `\n\nSigned-off-by: ${signed.name} <${signed.email}>` : ''
  return {
    branch: body.branch,
    newBranch: body.new_branch,
    isForced: body.force_push ?? false,
    message: (body.message?.trim() || usual) + trailer,
    author: personAs('author', author, committer),
    committer: signed,
  }
}

type ChangeRequest = Parameters<typeof openForPush>[1]

const change = async (
  services: Services,
  request: ChangeRequest & { readonly body: CommitBody },
  operations: readonly FileOperation[],
  usual: string,
) => {
  const changeable = await openForPush(services, request)
  const options = commitOptionsOf(request.body, changeable, usual)
  const open = await changeFiles(changeable.open, changeable.pusher, operations, options)
  const ref = options.newBranch || options.branch || open.repository.defaultBranch
  return { open, ref, ...(await presentChange(services, request, open)) }
}

const presentChange = async (services: Services, recipient: Recipient, open: OpenCommit) => {
  const urls = await urlsOf(services, open.repository, recipient)
  const shown = (await readCommit(open, open.commit))!
  const { id, tree, parents, author, committer, message, signature } = shown
  const parent = parents[0] === undefined ? undefined : await readCommit(open, parents[0])
  return {
    urls,
    /** The commit that the change is based on; undefined for the first one. */
    before: parents[0],
    commit: {
      ...metaOf(urls, shown),
      html_url: `${urls.html}/commit/${id}`,
      message,
      author: presentPerson(author),
      committer: presentPerson(committer),
      parents: parent === undefined ? [] : [metaOf(urls, parent)],
      tree: { url: `${urls.api}/git/trees/${tree}`, sha: tree, created: f.timestamp(committer.time) },
    },
    verification: presentVerification(signature),
  }
}

type Changed = Awaited<ReturnType<typeof change>>

const entryBefore = async ({ open, before }: Changed, path: string) =>
  before === undefined ? undefined : findEntry({ ...open, commit: before }, path)

/** The file as it is after the change; undefined when it was deleted. */
const presentPath = async (changed: Changed, path: string) => {
  const { open, ref, urls } = changed
  const found = await findEntry(open, path)
  if (found === undefined) return undefined
  const old = await entryBefore(changed, path)
  const isChanged = old?.entry.id !== found.entry.id || old.entry.mode !== found.entry.mode
  // Only a file that is as it was before has an older commit, which git must search.
  return presentFile(open, found, { urls, ref }, isChanged ? Promise.resolve(open.commit) : undefined)
}

const presentChanged = async (changed: Changed, path: string) => {
  const { commit, verification } = changed
  return { content: (await presentPath(changed, path))!, commit, verification }
}

const messageFor = (files: number) => (files === 1 ? 'Change 1 file' : `Change ${files} files`)

const FILE_PATH = '/contents/{filepath}'

export const fileChangeRoutes = [
  repositories.post('repoChangeFiles', '/contents', {
    summary: 'Change several files in one commit',
    body: ChangeFilesOptions,
    bodyLimit: BODY_LIMIT,
    of: FilesResponse,
    also: [409],
    run: async (request, services) => {
      const operations = request.body.files.map(({ operation, path, content, sha, from_path: fromPath }) => ({
        operation,
        path,
        sha,
        fromPath,
        content: bytesOf(content),
      }))
      const changed = await change(services, request, operations, messageFor(operations.length))
      const { commit, verification } = changed
      const files: (v.InferOutput<typeof ContentsResponse> | null)[] = []
      // One after another: together, a hundred searches would wait for each other.
      for (const { path } of operations) files.push((await presentPath(changed, path)) ?? null)
      return { files, commit, verification }
    },
  }),
  repositories.post('repoCreateFile', FILE_PATH, {
    takesRest: true,
    summary: 'Create a file',
    body: CreateFileOptions,
    bodyLimit: BODY_LIMIT,
    of: FileResponse,
    also: [409],
    run: async (request, services) => {
      const { filepath: path } = request.params
      const operation = { operation: 'create', path, content: bytesOf(request.body.content) } as const
      return presentChanged(await change(services, request, [operation], `Add ${path}`), path)
    },
  }),
  repositories.put('repoUpdateFile', FILE_PATH, {
    takesRest: true,
    summary: 'Change a file, or create one when there is no sha',
    body: UpdateFileOptions,
    bodyLimit: BODY_LIMIT,
    of: FileResponse,
    status: [200, 201],
    also: [409],
    run: async (request, services) => {
      const { params, body } = request
      const { sha, from_path: fromPath } = body
      const path = params.filepath
      const operation = { operation: 'update', path, sha, fromPath, content: bytesOf(body.content) } as const
      const changed = await change(services, request, [operation], `Update ${path}`)
      const shown = await presentChanged(changed, path)
      const isNew = (await entryBefore(changed, fromPath || path)) === undefined
      return isNew ? new Otherwise(shown) : shown
    },
  }),
  repositories.delete('repoDeleteFile', FILE_PATH, {
    takesRest: true,
    summary: 'Delete a file',
    body: DeleteFileOptions,
    of: FileDeleteResponse,
    also: [409],
    run: async (request, services) => {
      const { params, body } = request
      const operation = { operation: 'delete', path: params.filepath, sha: body.sha } as const
      const changed = await change(services, request, [operation], `Delete ${params.filepath}`)
      return { content: null, commit: changed.commit, verification: changed.verification }
    },
  }),
]
