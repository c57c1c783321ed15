// A route handler of Next: as `app/api/v1/[...path]/route.ts` it answers everything below /api/v1. The first request opens
// the store. It is kept in `globalThis`, because Next loads the module again after each change during development.
// Run it with: npx tsx examples/next-route.ts
import { type Allot, createAllot } from 'allot'
import { memory } from 'allot/drivers/memory'

const shared = globalThis as { allot?: Promise<Allot> }
const openAllot = () => {
  shared.allot ??= createAllot({ driver: memory(), repositories: false })
  return shared.allot
}

const answer = async (request: Request): Promise<Response> => (await openAllot()).fetch(request)

export { answer as DELETE, answer as GET, answer as PATCH, answer as POST, answer as PUT }

// Does what Next would do, when this file is run by itself.
const response = await answer(new Request('http://127.0.0.1:3000/api/v1/version'))
console.log(`${response.status} ${await response.text()}`)
await (await openAllot()).close()
