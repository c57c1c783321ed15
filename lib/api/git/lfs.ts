/**
 * Git LFS over HTTP, below the `clone_url` of each repository. A client sends one batch request to learn
 * where to upload objects to and download them from, and does so with the basic transfer of the LFS
 * specification.
 */
import { text } from 'node:stream/consumers'
import * as v from 'valibot'
import type { Identity } from '../../accounts/access.ts'
import type { LfsTokens } from '../../content/lfs-tokens.ts'
import { AllotError, invalid, invalidMember } from '../../errors.ts'
import type { LfsPointer } from '../../git/lfs-pointers.ts'
import {
  type Failure,
  fileReply,
  parseBody,
  type StreamCredentials,
  type StreamReply,
  type StreamRequest,
  validate,
} from '../../http/index.ts'
import type { StoredFile } from '../../records/schema/index.ts'
import { timestamp } from '../fields.ts'
import { type Services, stream } from '../route.ts'
import { nameIn, requireReadable, writableRepository } from './protocol.ts'

type LfsRequest = StreamRequest<Identity, 'owner' | 'repo'>

const TYPE = 'application/vnd.git-lfs+json'
const OID = /^[0-9a-f]{64}$/
const OID_FAULT = 'oid: expected a SHA-256 in lower case hexadecimal digits'
const SIZE_FAULT = 'size: expected a whole number of bytes'

const byteCount = v.pipe(v.number(), v.safeInteger(), v.minValue(0))

const Batch = v.object({
  operation: v.picklist(['download', 'upload']),
  transfers: v.optional(v.array(v.string()), ['basic']),
  hash_algo: v.optional(v.string(), 'sha256'),
  objects: v.array(v.object({ oid: v.string(), size: v.number() })),
})
type Batch = v.InferOutput<typeof Batch>

const Verify = v.object({ oid: v.pipe(v.string(), v.regex(OID, 'expected a SHA-256')), size: byteCount })

const readJson = async ({ body, inTurn }: LfsRequest): Promise<unknown> => {
  const content = await text(body)
  return inTurn(Buffer.byteLength(content), () => parseBody(content))
}

/** A reply in the format of LFS. It is not cached, since what a batch names depends on the credentials. */
const json = (status: number, value: unknown): StreamReply => ({
  status,
  headers: { 'Content-Type': TYPE, 'Cache-Control': 'no-store' },
  body: JSON.stringify(value),
})

/** git-lfs shows the `message` of the body, and asks for credentials when it gets `LFS-Authenticate`. */
const refusal = ({ message }: Failure, challenge?: string) => ({
  headers: {
    'Content-Type': TYPE,
    ...(challenge !== undefined && { 'LFS-Authenticate': challenge }),
  },
  body: JSON.stringify({ message }),
})

/** git-lfs sends a hundred objects in a batch. */
const MAX_OBJECTS = 1000

/**
 * The batch without repeated objects. The reply repeats nothing else of the request, so the request bounds
 * its size.
 * @throws AllotError too_large, invalid
 */
const readBatch = async (request: LfsRequest): Promise<Batch> => {
  const value = await readJson(request)
  const { objects } = (value ?? {}) as { objects?: unknown }
  if (Array.isArray(objects) && objects.length > MAX_OBJECTS)
    throw new AllotError('too_large', `objects: a batch must not have more than ${MAX_OBJECTS}`)
  const batch = validate(Batch, value)
  const distinct = new Map(batch.objects.map((object) => [`${object.size} ${object.oid}`, object]))
  return { ...batch, objects: [...distinct.values()] }
}

const batch = async (request: LfsRequest, services: Services): Promise<StreamReply> => {
  const { operation, transfers, hash_algo, objects } = await readBatch(request)
  const isUpload = operation === 'upload'
  const writer = isUpload ? await writableRepository(services, request) : undefined
  const repository = writer?.repository ?? (await requireReadable(services, request))
  if (hash_algo !== 'sha256') throw new AllotError('conflict', 'hash_algo: only sha256 is supported')
  if (!transfers.includes('basic')) throw invalidMember('transfers', 'only basic is supported')
  // Stands in for an oid that is not valid; no object has it.
  const oids = objects.map(({ oid }) => (OID.test(oid) ? oid : '-'))
  const found = await services.hosting.lfs.find(repository.id, oids)
  const answer = answersTo(request, services, isUpload)
  const answers = objects.map((object, index) => ({ ...object, ...answer(object, found[index]) }))
  if (writer !== undefined) {
    const uploads = answers.filter((one) => 'actions' in one)
    await services.hosting.lfs.askBefore(writer.user, repository, uploads)
  }
  return json(200, { transfer: 'basic', hash_algo: 'sha256', objects: answers })
}

/** Makes the member of the reply for one object. */
type ObjectAnswer = (object: LfsPointer, found: StoredFile | undefined) => object

const objectError = (code: number, message: string) => ({ error: { code, message } })

/** Bytes of an object; undefined without a limit. */
const maxSizeIn = ({ options: { lfs } }: Services) => (lfs ? lfs.maxSize : undefined)

/** An object that already exists gets no actions, whatever its size, and the client does not upload it. */
const answersTo = (request: LfsRequest, services: Services, isUpload: boolean): ObjectAnswer => {
  const maxSize = maxSizeIn(services)
  const base = lfsUrl(request)
  const credentials = tokenIn(request, services)
  const action = (path: string) => ({ href: `${base}/${path}`, ...credentials })
  return (object, found) => {
    const { oid, size } = object
    const fault = faultOf(object, found)
    if (fault !== undefined) return objectError(422, fault)
    if (!isUpload && found === undefined) return objectError(404, 'there is no such object')
    if (!isUpload) return { actions: { download: action(`objects/${oid}`) } }
    if (found !== undefined) return {}
    if (maxSize !== undefined && size > maxSize)
      return objectError(422, `size: an object must not be larger than ${maxSize} bytes`)
    return { actions: { upload: action(`objects/${oid}/${size}`), verify: action('verify') } }
  }
}

const faultOf = ({ oid, size }: LfsPointer, found: StoredFile | undefined): string | undefined => {
  if (!OID.test(oid)) return OID_FAULT
  if (!v.is(byteCount, size)) return SIZE_FAULT
  if (found !== undefined && found.size !== size) return `size: the object has ${found.size} bytes`
  return undefined
}

/**
 * Actions repeat a token that the client got over SSH. Without a `header`, it sends the credentials of the
 * batch again.
 */
const tokenIn = ({ headers }: LfsRequest, { lfsTokens }: Services): object => {
  const { authorization } = headers
  if (lfsTokens === undefined || !lfsTokens.isToken(authorization)) return {}
  const expires = lfsTokens.expiryOf(authorization)
  return { header: { Authorization: authorization }, expires_at: timestamp(expires) }
}

const lfsUrl = ({ baseUrl, params }: LfsRequest): string => {
  const path = [params.owner, `${nameIn(params.repo)}.git`].map(encodeURIComponent).join('/')
  return `${baseUrl}/${path}/info/lfs`
}

/** @throws AllotError invalid */
const objectIn = ({ oid, size }: { oid: string; size: string }): LfsPointer => {
  if (!OID.test(oid)) throw invalid(OID_FAULT)
  if (!/^\d{1,16}$/.test(size) || !Number.isSafeInteger(Number(size))) throw invalid(SIZE_FAULT)
  return { oid, size: Number(size) }
}

/** Authenticates requests below the LFS URL of a repository by the tokens that clients get over SSH. */
export const lfsAuthenticator =
  (tokens: LfsTokens | undefined) =>
  ({ authorization, path, params }: StreamCredentials): Promise<Identity> | undefined => {
    if (tokens === undefined || !path.startsWith(LFS_PATH) || !tokens.isToken(authorization)) return undefined
    return tokens.authenticate(authorization, params.owner!, nameIn(params.repo!))
  }

const LFS_PATH = '/{owner}/{repo}/info/lfs/'

const upload = async (
  request: StreamRequest<Identity, 'owner' | 'repo' | 'oid' | 'size'>,
  services: Services,
): Promise<StreamReply> => {
  const { repository, user } = await writableRepository(services, request)
  const object = objectIn(request.params)
  if (request.size !== undefined && request.size !== object.size)
    throw invalid(`the content has ${request.size} bytes, and not ${object.size}`)
  await services.hosting.lfs.add(user, repository.id, object, request.body, maxSizeIn(services))
  return json(200, {})
}

const verify = async (request: LfsRequest, services: Services): Promise<StreamReply> => {
  const { repository } = await writableRepository(services, request)
  const { oid, size } = validate(Verify, await readJson(request))
  const [found] = await services.hosting.lfs.find(repository.id, [oid])
  if (found === undefined) throw new AllotError('not_found', 'there is no such object')
  if (found.size !== size) throw invalid(`the object has ${found.size} bytes, and not ${size}`)
  return json(200, {})
}

const download = async (
  request: StreamRequest<Identity, 'owner' | 'repo' | 'oid'>,
  services: Services,
): Promise<StreamReply> => {
  const { id } = await requireReadable(services, request)
  const { oid } = request.params
  const [found] = OID.test(oid) ? await services.hosting.lfs.find(id, [oid]) : []
  if (found === undefined) throw new AllotError('not_found', 'there is no such object')
  const read = (range?: { start: number; end: number }) => services.hosting.files.read(found, range)
  return fileReply(request.headers, { size: found.size, tag: oid, read })
}

/** git-lfs shows the message, and on 404 it leaves out the check of locks before a push. */
const refuseLocks = async (request: LfsRequest, services: Services): Promise<never> => {
  await requireReadable(services, request)
  throw new AllotError('not_found', 'this server does not support file locking (git lfs lock)')
}

/** Bytes: room for {@link MAX_OBJECTS} objects and the other members that clients send. */
const BATCH_LIMIT = 512 * 1024

const withJson = { refusal, accepts: TYPE, bodyLimit: BATCH_LIMIT } as const

export const lfsRoutes = [
  stream({ ...withJson, method: 'POST', path: '/{owner}/{repo}/info/lfs/objects/batch', handle: batch }),
  stream({ ...withJson, method: 'POST', path: '/{owner}/{repo}/info/lfs/verify', handle: verify }),
  ...(
    [
      ['GET', 'locks'],
      ['POST', 'locks'],
      ['POST', 'locks/verify'],
      ['POST', 'locks/{id}/unlock'],
    ] as const
  ).map(([method, path]) =>
    stream({ refusal, method, path: `/{owner}/{repo}/info/lfs/${path}` as const, handle: refuseLocks }),
  ),
  stream({ refusal, method: 'PUT', path: '/{owner}/{repo}/info/lfs/objects/{oid}/{size}', handle: upload }),
  stream({ refusal, method: 'GET', path: '/{owner}/{repo}/info/lfs/objects/{oid}', handle: download }),
]
