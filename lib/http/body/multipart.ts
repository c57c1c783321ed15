import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import type { BusboyFileStream, BusboyInstance } from '@fastify/busboy'
import { AllotError, invalid, invalidMember } from '../../errors.ts'
import type { FileField, Upload, UploadedFile } from '../route.ts'
import { checkUnread, declaredSize, disconnected } from './bytes.ts'

export const readUpload = (req: IncomingMessage, { field }: FileField): Upload => {
  checkUnread(req)
  return { size: declaredSize(req), file: () => readFile(req, field) }
}

/** Resolves when the file begins, while the rest of the body is still arriving. */
const readFile = async (req: IncomingMessage, field: string): Promise<UploadedFile> => {
  const parser = await createParser(req)
  let file: BusboyFileStream | undefined
  let complete: Promise<void> | undefined
  const found = new Promise<UploadedFile>((resolve, reject) => {
    complete = new Promise<void>((end, fail) => {
      parser.on('file', (name, stream, filename) => {
        // The parser reports a body that ends too early.
        stream.on('error', () => undefined)
        if (name !== field) return fail(invalid(`${name}: unexpected file, send it in the field ${field}`))
        if (file !== undefined) return fail(invalidMember(field, `expected one file, got several`))
        file = stream
        const content = Readable.from(
          bytesOf(stream, () => complete),
          BINARY,
        )
        resolve({ name: filename ?? '', content })
      })
      const tooMany = () => fail(invalid('the form has too many fields'))
      parser.on('partsLimit', tooMany).on('fieldsLimit', tooMany)
      parser.on('error', (cause: unknown) =>
        fail(new AllotError('invalid', 'the body is not complete multipart/form-data', { cause })),
      )
      parser.on('finish', () =>
        file === undefined ? fail(invalidMember(field, `a file is required`)) : end(),
      )
      const disconnect = () => fail(disconnected())
      req.once('error', disconnect).once('close', () => req.readableEnded || disconnect())
      if (req.destroyed) disconnect()
    })
    complete.catch(reject)
  })
  complete!.catch((error: Error) => {
    req.unpipe(parser)
    file?.destroy(error)
  })
  req.pipe(parser)
  return found
}

const BINARY = { objectMode: false, highWaterMark: 256 * 1024 }

/** Yields the bytes of a file, and fails when the rest of the body does. */
async function* bytesOf(
  file: BusboyFileStream,
  complete: () => Promise<void> | undefined,
): AsyncGenerator<Buffer> {
  try {
    yield* file
  } catch (error) {
    await complete()
    throw error
  }
  await complete()
}

/** Clients may send a few other fields beside the file; they are ignored. */
const LIMITS = { fields: 16, fieldSize: 1024, parts: 20, headerPairs: 64, headerSize: 16 * 1024 }

const createParser = async (req: IncomingMessage): Promise<BusboyInstance> => {
  // Loaded at the first upload, so that a server starts faster.
  const { Busboy } = await import('@fastify/busboy')
  try {
    return new Busboy({
      headers: { 'content-type': req.headers['content-type'] ?? '' },
      limits: LIMITS,
      isPartAFile: (_name, _type, filename) => filename !== undefined,
    })
  } catch (cause) {
    throw new AllotError('invalid', 'the content type has no multipart boundary', { cause })
  }
}
