// Resumable uploads with tus (https://tus.io): refused with 413 when they do not fit, also when many come at
// once, since each one reserves its bytes when it is created. The reservation is kept when the upload is
// complete, and goes when the upload is deleted or takes longer than a day. The packages are in package.json
// beside this file. Run it in this folder with: npm install && npm start. Until allot is on npm, `npm pack`
// in the checkout writes its archive: npm install --no-save ../../allot-0.1.0.tgz && npm start
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { FileStore } from '@tus/file-store'
import { EVENTS, Server } from '@tus/server'
import { createQuota, OverQuotaError, type OwnerEntry } from 'allot'

const quota = await createQuota({ data: './data', defaultTotal: '1 MiB' })

// Yours: who sends the request. Here a proxy that you trust sets the header, which it must remove from the
// requests of clients.
const ownerOf = ({ headers }: Request): string => {
  const owner = headers.get('x-forwarded-user')
  if (owner === null) throw { status_code: 401, body: 'sign in first\n' }
  return owner
}

const HOUR = 60 * 60 * 1000
/** How long an upload may take. Its reservation lasts longer, until the last request has ended. */
const UPLOAD_MS = 24 * HOUR
const RESERVATION_MS = UPLOAD_MS + HOUR

const entryOf = (id: string) => ({ kind: 'artifacts', key: `tus/${id}` }) as const

interface Upload {
  id: string
  size?: number
  metadata?: Record<string, string | null>
}

/** Records an upload if it fits, and answers 413 otherwise. One that is recorded already fits. */
const record = async ({ id, size = 0, metadata }: Upload, owner: string, expiresAt?: number) => {
  const entry: OwnerEntry = { ...entryOf(id), owner, name: metadata?.filename ?? id, size, expiresAt }
  try {
    await quota.ledger.put(entry, { within: true })
  } catch (error) {
    throw error instanceof OverQuotaError ? { status_code: 413, body: 'over quota\n' } : error
  }
}

const uploads = new Server({
  path: '/uploads',
  datastore: new FileStore({ directory: './uploads', expirationPeriodInMilliseconds: UPLOAD_MS }),

  /** Before the first byte: the client has announced the size. */
  async onUploadCreate(req, upload) {
    const owner = ownerOf(req)
    // A client that sends Upload-Defer-Length could announce any size later, which is not checked.
    if (upload.size === undefined) throw { status_code: 411, body: 'announce the size with Upload-Length\n' }
    await record(upload, owner, Date.now() + RESERVATION_MS)
    // Kept with the upload, in the place of whatever owner the client may have named.
    return { metadata: { ...upload.metadata, owner } }
  },

  /** Every byte is stored, and the client has not been answered yet. */
  async onUploadFinish(_req, upload) {
    try {
      await record(upload, upload.metadata?.owner ?? '')
    } catch (error) {
      // The reservation had expired, and the bytes do not fit any more.
      await uploads.datastore.remove(upload.id)
      throw error
    }
    return {}
  },

  /** Every request: an upload belongs to who created it. */
  async onIncomingRequest(req, id) {
    if (req.method === 'POST' || req.method === 'OPTIONS') return
    const { metadata } = await uploads.datastore.getUpload(id)
    if (metadata?.owner !== ownerOf(req)) throw { status_code: 404, body: 'no such upload\n' }
  },
})
uploads.on(EVENTS.POST_TERMINATE, (_req, _res, id) => void quota.ledger.delete(entryOf(id)))

// Deletes the files of uploads that were given up.
setInterval(() => void uploads.cleanUpExpiredUploads(), HOUR).unref()

const server = createServer((req, res) => void uploads.handle(req, res))
server.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo
  console.log(`tus uploads go to http://127.0.0.1:${port}/uploads`)
})

const close = async () => {
  server.close()
  await quota.close()
}
process.once('SIGTERM', close).once('SIGINT', close)
