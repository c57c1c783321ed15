import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { memory } from '../../drivers/memory/index.ts'
import { type OpenAllot, openAllot } from '../../lib/allot.ts'
import type { Log } from '../../lib/http/index.ts'
import type { StorageDriver } from '../../lib/index.ts'
import { contentOf } from '../lfs/served.ts'
import { temporaryDirectory } from '../support/folder.ts'

const quiet: Log = { error: () => undefined, info: () => undefined }

/** A store with its folders, on which servers are opened and closed. */
export interface Ground {
  driver: StorageDriver
  folder: string
  files: { directory: string }
  repositories: { directory: string }
  open(log?: Log): Promise<OpenAllot>
  clear(): void
}

export const aGround = (): Ground => {
  const [driver, folder] = [memory(), temporaryDirectory()]
  const files = { directory: join(folder, 'files') }
  const repositories = { directory: join(folder, 'repositories') }
  return {
    ...{ driver, folder, files, repositories },
    open: (log = quiet) => openAllot({ driver, files, repositories, log }),
    clear: () => rmSync(folder, { recursive: true, force: true }),
  }
}

export const LARGE = contentOf(Buffer.alloc(200_000, 'large'))
export const SMALL = contentOf('small')
export const EMPTY = contentOf('')

/**
 * Creates a user with LFS objects, packages and an attachment.
 * @returns the id of the repository
 */
export const fill = async ({ hosting }: OpenAllot, name = 'alice'): Promise<number> => {
  const alice = await hosting.accounts.createUser({ name })
  const { id } = await hosting.repositories.create(alice, alice, { name: 'demo' })
  for (const { oid, size, bytes } of [LARGE, SMALL, EMPTY])
    await hosting.lfs.add(
      { id: alice.id, admin: false, username: name },
      id,
      { oid, size },
      Readable.from([bytes]),
      undefined,
    )
  const viewer = { id: alice.id, admin: false }
  const at = { owner: name, type: 'generic', name: 'tool', version: '1' }
  for (const file of ['a', 'b'])
    await hosting.packages.add(viewer, at, file, Readable.from([Buffer.from(file)]))
  const demo = { owner: name, name: 'demo' }
  const { release } = (await hosting.releases.create(viewer, demo, { tag: 'v1' }))!
  const attached = { name: 'notes', content: Readable.from([Buffer.from('notes')]), maxSize: 100 }
  await hosting.attachments.add(viewer, demo, { release: release.id }, attached)
  return id
}
