// A route handler of Next: as `app/code/[[...path]]/route.ts` it serves everything below /code. Next must not
// bundle Allot: set `serverExternalPackages: ['allot']` in `next.config.mjs`.
// Run it with: npx tsx examples/next-route.ts
import { type Allot, createAllot } from 'allot'

// Next loads modules again after each change, but only one Allot can have the folder open.
const shared = globalThis as { allot?: Promise<Allot> }

const open = async (): Promise<Allot> => {
  const allot = await createAllot({ data: './example-data/next-route' })
  const { token } = await allot.setUp({ admin: 'root' })
  if (token !== undefined) console.log(`sign in with the token ${token}`)
  return allot
}

const handle = async (request: Request): Promise<Response> => {
  shared.allot ??= open()
  return (await shared.allot).fetch(request, { prefix: '/code', pages: '/storage' })
}

export {
  handle as DELETE,
  handle as GET,
  handle as HEAD,
  handle as OPTIONS,
  handle as PATCH,
  handle as POST,
  handle as PUT,
}

// Does what Next would do, when this file is run by itself.
if (process.argv[1] === import.meta.filename) {
  const version = await handle(new Request('http://127.0.0.1:3000/code/api/v1/version'))
  console.log(`${version.status} ${await version.text()}`)
  const page = await handle(new Request('http://127.0.0.1:3000/code/storage'))
  console.log(`${page.status} ${page.headers.get('location')}`)
  await (await shared.allot)?.close()
}
