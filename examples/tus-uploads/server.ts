// Resumable uploads with tus (https://tus.io): refused with 413 when they do not fit, recorded when they are
// complete, and forgotten when they are deleted. The packages are in package.json beside this file. Run it in
// this folder with: npm install && npm start. Until allot is on npm, `npm pack` in the checkout writes its
// archive: npm install --no-save ../../allot-0.1.0.tgz && npm start
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { FileStore } from '@tus/file-store'
import { EVENTS, Server } from '@tus/server'
import { createQuota } from 'allot'

const quota = await createQuota({ data: './data', defaultTotal: '1 MiB' })

// Yours: who sends the request. Here a proxy that you trust sets the header, which it must remove from the
// requests of clients.
const ownerOf = ({ headers }: Request): string => {
  const owner = headers.get('x-forwarded-user')
  if (owner === null) throw { status_code: 401, body: 'sign in first\n' }
  return owner
}

const entryOf = (id: string) => ({ kind: 'artifacts', key: `tus/${id}` }) as const

const uploads = new Server({
  path: '/uploads',
  datastore: new FileStore({ directory: './uploads' }),

  /** Before the first byte: the client has announced the size. */
  async onUploadCreate(req, { size, metadata }) {
    const owner = ownerOf(req)
    // A client that sends Upload-Defer-Length could announce any size later, which is not checked.
    if (size === undefined) throw { status_code: 411, body: 'announce the size with Upload-Length\n' }
    const { left } = await quota.explain(owner, 'size:all')
    if ((await quota.isOver(owner, 'size:all')) || (left !== null && size > left))
      throw { status_code: 413, body: 'over quota\n' }
    // Kept with the upload, in the place of whatever owner the client may have named.
    return { metadata: { ...metadata, owner } }
  },

  /** Every byte is stored, and the client has not been answered yet. */
  async onUploadFinish(_req, { id, size = 0, metadata }) {
    const owner = metadata?.owner ?? ''
    await quota.ledger.put({ ...entryOf(id), owner, name: metadata?.filename ?? id, size })
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
