import { generateKey, readKeys } from 'openpgp'
import { recordingsOf } from './recordings.ts'
import { replay } from './replay.ts'
import type { World } from './world.ts'

const recordings = new Map(recordingsOf('gpg-keys').map((recording) => [recording.id, recording]))

const add = (world: World, armored_public_key: string) =>
  world.make('alice', 'POST', '/user/gpg_keys', { armored_public_key })

/** Adds the keys of the recorded server whose requests were not recorded. */
const addOthers = (count: number) => async (world: World) => {
  for (let number = 0; number < count; number++) {
    const userIDs = { email: 'alice@example.com' }
    const { publicKey } = await generateKey({ type: 'ecc', userIDs, subkeys: [], format: 'armored' })
    await add(world, publicKey)
  }
}

/** Adds the first of the keys in the body of a request. */
const addFirst = (recording: string) => async (world: World) => {
  const { armored_public_key } = recordings.get(recording)!.request.body as { armored_public_key: string }
  const [key] = await readKeys({ armoredKeys: armored_public_key })
  await add(world, key!.armor())
}

/** The request for the same key, with its id on this server. */
const sameKey = (recording: string) => async (world: World) => {
  const { key_id } = recordings.get(recording)!.response.body as { key_id: string }
  const { body } = await world.running.as(
    { name: 'alice', id: 0, password: '', token: world.tokens.get('alice')! },
    'GET',
    '/user/gpg_keys',
  )
  const key = body.find((one: { key_id: string }) => one.key_id === key_id)
  return { path: `/api/v1/user/gpg_keys/${key.id}` }
}

replay('gpg-keys', {
  steps: {
    'gpg.add.expired': addOthers(1),
    'gpg.add.revsub': addOthers(3),
    'gpg.add.twoblocks': addFirst('gpg.add.twoblocks'),
    'gpg.add.signature': addOthers(1),
  },
  requests: Object.fromEntries(
    ['gpg.get.expired', 'gpg.get.future', 'gpg.get.revsub', 'gpg.get.brainpool', 'gpg.get.twokeys2'].map(
      (id) => [id, sameKey(id)],
    ),
  ),
  leaveOut: {
    'gpg.get.subkeys': 'the request that added the key was not recorded',
    'gpg.get.secretalice': 'Allot refuses the private key that was added before',
  },
})
