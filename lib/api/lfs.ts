import { text } from 'node:stream/consumers'
import * as v from 'valibot'
import type { Identity } from '../accounts/identity.ts'
import type { LfsObject } from '../content/lfs.ts'
import { AllotError, invalid } from '../errors.ts'
import { type Failure, fileReply, parseJson, type StreamReply, type StreamRequest } from '../http/index.ts'
import type { StoredFile } from '../records/schema/index.ts'
import { nameIn, readable, writable } from './git-access.ts'
import { type StreamServices, stream } from './route.ts'

/*
 * Git LFS, as its specification has it: a client asks in one batch where to send objects to and where to get them from,
 * and does so with its basic transfer.
 */
const TYPE = 'application/vnd.git-lfs+json'

type Asked = StreamRequest<Identity, 'owner' | 'repo'>

const OID = /^[0-9a-f]{64}$/
const wholeNumber = v.pipe(v.number(), v.safeInteger(), v.minValue(0))

const Batch = v.object({
  operation: v.picklist(['download', 'upload']),
  transfers: v.optional(v.array(v.string()), ['basic']),
  hash_algo: v.optional(v.string(), 'sha256'),
  objects: v.array(v.object({ oid: v.string(), size: v.number() })),
})
type Batch = v.InferOutput<typeof Batch>

/** Clients ask for a hundred objects at a time. */
const MAX_OBJECTS = 1000
const Verify = v.object({ oid: v.pipe(v.string(), v.regex(OID)), size: wholeNumber })

const bodyAs = async <S extends v.GenericSchema>(schema: S, { body }: Asked): Promise<v.InferOutput<S>> =>
  validated(schema, jsonIn(await text(body)))

const validated = <S extends v.GenericSchema>(schema: S, value: unknown): v.InferOutput<S> => {
  const result = v.safeParse(schema, value)
  if (result.success) return result.output
  const [issue] = result.issues
  throw invalid(`${v.getDotPath(issue) ?? 'the body'}: ${issue.message}`)
}

const jsonIn = (words: string): unknown => {
  try {
    return parseJson(words)
  } catch (cause) {
    throw new AllotError('invalid', 'the body is no JSON', { cause })
  }
}

/** A batch holds the credentials that it was asked with. */
const json = (status: number, value: unknown): StreamReply => ({
  status,
  headers: { 'Content-Type': TYPE, 'Cache-Control': 'no-store' },
  body: JSON.stringify(value),
})

/** "The response body should be a JSON object with a message", and people are asked to sign in when this header says so. */
const refusal = ({ status, message }: Failure) => ({
  headers: {
    'Content-Type': TYPE,
    ...(status === 401 ? { 'LFS-Authenticate': 'Basic realm="Allot"' } : {}),
  },
  body: JSON.stringify({ message }),
})

/**
 * Invariant: the answer has each object once and repeats nothing else of the request, so its size is bounded by that of the
 * request. @throws AllotError too_large
 */
const batchIn = async (request: Asked): Promise<Batch> => {
  const value = jsonIn(await text(request.body))
  const { objects } = (value ?? {}) as { objects?: unknown }
  if (Array.isArray(objects) && objects.length > MAX_OBJECTS)
    throw new AllotError('too_large', `objects: a batch must not have more than ${MAX_OBJECTS}`)
  const asked = validated(Batch, value)
  const merged = new Map(asked.objects.map((object) => [`${object.size} ${object.oid}`, object]))
  return { ...asked, objects: [...merged.values()] }
}

const batch = async (request: Asked, services: StreamServices): Promise<StreamReply> => {
  const asked = await batchIn(request)
  const isUpload = asked.operation === 'upload'
  const repository = isUpload ? (await writable(services, request))[0] : await readable(services, request)
  if (asked.hash_algo !== 'sha256') throw new AllotError('conflict', 'hash_algo: only sha256 is known here')
  if (!asked.transfers.includes('basic')) throw invalid('transfers: only basic is known here')
  const found = await services.hosting.lfs.find(
    repository.id,
    asked.objects.map(({ oid }) => (OID.test(oid) ? oid : NONE)),
  )
  const answer = isUpload ? uploadOf(request, services) : downloadOf(request)
  return json(200, {
    transfer: 'basic',
    hash_algo: 'sha256',
    objects: asked.objects.map(({ oid, size }, at) => ({ oid, size, ...answer({ oid, size }, found[at]) })),
  })
}
const NONE = '-'

type Answer = (object: LfsObject, found: StoredFile | undefined) => object

const refused = (code: number, message: string) => ({ error: { code, message } })

/** "The object will be uploaded" where there is none, and nothing is to be done where there is. */
const uploadOf =
  (request: Asked, { largest }: StreamServices): Answer =>
  ({ oid, size }, found) => {
    const fault = faultOf({ oid, size }, largest.lfs, found)
    if (fault !== undefined) return refused(422, fault)
    if (found !== undefined) return {}
    const base = objectsUrl(request)
    return {
      actions: {
        upload: { href: `${base}/objects/${oid}/${size}` },
        verify: { href: `${base}/verify` },
      },
    }
  }

const downloadOf =
  (request: Asked): Answer =>
  ({ oid, size }, found) => {
    const fault = faultOf({ oid, size }, undefined, found)
    if (fault !== undefined) return refused(422, fault)
    if (found === undefined) return refused(404, 'there is no such object')
    return { actions: { download: { href: `${objectsUrl(request)}/objects/${oid}` } } }
  }

const faultOf = (
  { oid, size }: LfsObject,
  largest: number | undefined,
  found: StoredFile | undefined,
): string | undefined => {
  if (!OID.test(oid)) return 'oid: expected a SHA-256 in lower case hexadecimal digits'
  if (!v.is(wholeNumber, size)) return 'size: expected a whole number of bytes'
  if (found !== undefined && found.size !== size) return `size: the object has ${found.size} bytes`
  if (largest !== undefined && size > largest)
    return `size: an object must not be larger than ${largest} bytes`
  return undefined
}

/**
 * Where the objects of a repository are. An action names no header: a client sends the credentials of the batch again, so
 * the answer holds none, whatever was sent.
 */
const objectsUrl = ({ baseUrl, params }: Asked): string => {
  const path = [params.owner, `${nameIn(params.repo)}.git`].map(encodeURIComponent).join('/')
  return `${baseUrl}/${path}/info/lfs`
}

const objectIn = ({ oid, size }: { oid: string; size: string }): LfsObject => {
  if (!OID.test(oid)) throw invalid('oid: expected a SHA-256 in lower case hexadecimal digits')
  if (!/^\d{1,16}$/.test(size) || !Number.isSafeInteger(Number(size)))
    throw invalid('size: expected a whole number of bytes')
  return { oid, size: Number(size) }
}

const upload = async (
  request: StreamRequest<Identity, 'owner' | 'repo' | 'oid' | 'size'>,
  services: StreamServices,
): Promise<StreamReply> => {
  const [{ id }] = await writable(services, request)
  const object = objectIn(request.params)
  if (request.size !== undefined && request.size !== object.size)
    throw invalid(`the content has ${request.size} bytes, and not ${object.size}`)
  await services.hosting.lfs.add(id, object, request.body, services.largest.lfs)
  return json(200, {})
}

const verify = async (request: Asked, services: StreamServices): Promise<StreamReply> => {
  const [{ id }] = await writable(services, request)
  const { oid, size } = await bodyAs(Verify, request)
  const [found] = await services.hosting.lfs.find(id, [oid])
  if (found === undefined) throw new AllotError('not_found', 'there is no such object')
  if (found.size !== size) throw invalid(`the object has ${found.size} bytes, and not ${size}`)
  return json(200, {})
}

const download = async (
  request: StreamRequest<Identity, 'owner' | 'repo' | 'oid'>,
  services: StreamServices,
): Promise<StreamReply> => {
  const { id } = await readable(services, request)
  const { oid } = request.params
  const [found] = OID.test(oid) ? await services.hosting.lfs.find(id, [oid]) : []
  if (found === undefined) throw new AllotError('not_found', 'there is no such object')
  const read = (range?: { start: number; end: number }) => services.hosting.files.read(found, range)
  return fileReply(request.headers, { size: found.size, tag: oid, read })
}

/** Bytes of a batch, with room for what clients say besides the objects. */
const LONGEST_BATCH = 512 * 1024

const asJson = { refusal, accepts: TYPE, bodyLimit: LONGEST_BATCH } as const

/** LFS over HTTP, below the `clone_url` of each repository, where `git lfs` looks for it. */
export const lfsRoutes = [
  stream({ ...asJson, method: 'POST', path: '/{owner}/{repo}/info/lfs/objects/batch', handle: batch }),
  stream({ ...asJson, method: 'POST', path: '/{owner}/{repo}/info/lfs/verify', handle: verify }),
  stream({ refusal, method: 'PUT', path: '/{owner}/{repo}/info/lfs/objects/{oid}/{size}', handle: upload }),
  stream({ refusal, method: 'GET', path: '/{owner}/{repo}/info/lfs/objects/{oid}', handle: download }),
  stream({ refusal, method: 'HEAD', path: '/{owner}/{repo}/info/lfs/objects/{oid}', handle: download }),
]
