import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import ssh2, { type ClientChannel } from 'ssh2'
import { aCheckout, git } from '../git/client.ts'
import { atEnd } from '../support/cleanup.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { createPersistentStore } from '../support/store.ts'
import { gitWith, startSsh } from './client.ts'

/** The request of a client that fetches the first commit which `git-upload-pack` has advertised. */
export const wantOf = (begun: unknown): string => {
  const [advertised] = begun as [Buffer]
  return `0032want ${advertised.toString('latin1', 4, 44)}\n0000`
}
export const HAVE = `0032have ${'1'.repeat(40)}\n`

/** More than the window of a client, and what the server sends ahead. */
export const SIZE = 3_500_000

/** A server that ends idle commands, with a repository. */
export const idleAfter = async (idleTimeout: number) => {
  const { driver, drop } = await createPersistentStore()
  const kept = { driver, repositories: { directory: temporaryDirectory() } }
  // The limit is not for the push: on a busy machine, one can pause for as long.
  const patient = await startSsh(kept)
  const ada = await patient.person('ada')
  const key = await patient.key(ada)
  const path = await patient.repository(ada, 'large')
  const checkout = await aCheckout({ large: randomBytes(SIZE) })
  await gitWith(key, checkout, 'push', '--quiet', patient.url(path), 'main')
  await patient.stop()
  atEnd(drop)
  const impatient = await startSsh({ ...kept, git: { idleTimeout } }, {}, { root: 'other' })
  return { impatient, key, path, wanted: await git(checkout, 'rev-parse', 'main') }
}

/** Signs in with the library as client, and starts a fetch. */
export const fetching = async (port: number, key: string, path: string) => {
  const client = new ssh2.Client()
  client.on('error', () => undefined)
  client.connect({ port, host: '127.0.0.1', username: 'git', privateKey: readFileSync(key) })
  await once(client, 'ready')
  const stream = await new Promise<ClientChannel>((resolve, reject) =>
    client.exec(`git-upload-pack ${path}`, (error, opened) => (error ? reject(error) : resolve(opened))),
  )
  return { client, stream }
}
