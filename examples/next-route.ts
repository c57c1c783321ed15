// A route handler of Next: as `app/api/v1/[...path]/route.ts` it answers everything below /api/v1. The store is opened
// with the first request, and once: Next loads a route again for each change while it is being worked on.
// Run it with: npx tsx examples/next-route.ts
import { type Allot, createAllot } from 'allot'
import { memory } from 'allot/drivers/memory'

const kept = globalThis as { allot?: Promise<Allot> }
const opened = () => {
  kept.allot ??= createAllot({ driver: memory(), repositories: false })
  return kept.allot
}

const answer = async (request: Request): Promise<Response> => (await opened()).fetch(request)

export { answer as DELETE, answer as GET, answer as PATCH, answer as POST, answer as PUT }

// What Next does with it, for whoever runs this file.
const response = await answer(new Request('http://127.0.0.1:3000/api/v1/version'))
console.log(`${response.status} ${await response.text()}`)
await (await opened()).close()
