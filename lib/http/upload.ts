import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import type { BusboyFileStream, BusboyInstance } from '@fastify/busboy'
import { AllotError, invalid } from '../errors.ts'
import { ClientDisconnected } from './failure.ts'

/** A body of `multipart/form-data` with one file, as a route declares it. */
export interface FileField {
  readonly kind: 'file'
  /** The name of the member that is the file. */
  readonly field: string
}
export const fileField = (field: string): FileField => ({ kind: 'file', field })
export const isFileField = (body: unknown): body is FileField =>
  (body as FileField | undefined)?.kind === 'file'

/** The same as a handler is given it: nothing of it is read before it is asked for. */
export interface Upload {
  /** Bytes of the whole body, where the client says so. */
  readonly size: number | undefined
  /** To be asked once. @throws AllotError invalid when there is no such file. */
  file(): Promise<UploadedFile>
}

/** A file as it comes. */
export interface UploadedFile {
  /** As the client calls it, without folders; empty when it calls it nothing. */
  readonly name: string
  /**
   * Its bytes. They end when the whole body has come, is well formed and has no other file in it; else they fail, so that
   * nobody takes them for the file.
   */
  readonly content: Readable
}

export const readUpload = (req: IncomingMessage, { field }: FileField): Upload => {
  const length = req.headers['content-length']
  return { size: length === undefined ? undefined : Number(length), file: () => fileIn(req, field) }
}

const fileIn = async (req: IncomingMessage, field: string): Promise<UploadedFile> => {
  const parser = await parserFor(req)
  let file: BusboyFileStream | undefined
  let whole: Promise<void> | undefined
  const found = new Promise<UploadedFile>((resolve, reject) => {
    whole = new Promise<void>((end, fail) => {
      parser.on('file', (name, stream, filename) => {
        // A body that ends too soon is told of by the parser.
        stream.on('error', () => undefined)
        if (name !== field) return fail(invalid(`${name}: a file is taken as ${field}`))
        if (file !== undefined) return fail(invalid(`${field}: one file is taken at a time`))
        file = stream
        resolve({
          name: filename ?? '',
          content: Readable.from(
            bytesOf(stream, () => whole),
            BINARY,
          ),
        })
      })
      const tooMany = () => fail(invalid('the form has too many members'))
      parser.on('partsLimit', tooMany).on('fieldsLimit', tooMany)
      parser.on('error', (cause: unknown) =>
        fail(new AllotError('invalid', 'the body is no whole multipart/form-data', { cause })),
      )
      parser.on('finish', () => (file === undefined ? fail(invalid(`${field}: a file is required`)) : end()))
      const gone = () => fail(new ClientDisconnected('the request ended before its body did'))
      req.once('error', gone).once('close', () => req.readableEnded || gone())
      if (req.destroyed) gone()
    })
    whole.catch(reject)
  })
  whole!.catch((error: Error) => {
    req.unpipe(parser)
    file?.destroy(error)
  })
  req.pipe(parser)
  return found
}
const BINARY = { objectMode: false, highWaterMark: 256 * 1024 }

async function* bytesOf(
  file: BusboyFileStream,
  whole: () => Promise<void> | undefined,
): AsyncGenerator<Buffer> {
  try {
    yield* file
  } catch (error) {
    await whole()
    throw error
  }
  await whole()
}

/** Besides the file a form may have a few members, which say nothing here. */
const LIMITS = { fields: 16, fieldSize: 1024, parts: 20, headerPairs: 64, headerSize: 16 * 1024 }

const parserFor = async (req: IncomingMessage): Promise<BusboyInstance> => {
  // Loaded when first used: a server starts sooner without it.
  const { Busboy } = await import('@fastify/busboy')
  try {
    return new Busboy({
      headers: { 'content-type': req.headers['content-type'] ?? '' },
      limits: LIMITS,
      isPartAFile: (_name, _type, filename) => filename !== undefined,
    })
  } catch (cause) {
    throw new AllotError('invalid', 'the body has no boundary', { cause })
  }
}
