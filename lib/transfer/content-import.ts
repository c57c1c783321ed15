import { AllotError, invalid } from '../errors.ts'
import type { BundleImport } from '../git/bundle-import.ts'
import type { GitStore } from '../git/index.ts'
import { repositories } from '../records/schema/index.ts'
import type { StorageDriver } from '../storage/index.ts'
import type { TransferParts } from './export.ts'

/** Repositories that come in one after another, each in parts and at last its HEAD. */
export interface RepositoryImport {
  part(repository: number, part: Uint8Array): Promise<void>
  head(repository: number, head: string): Promise<void>
  /** @throws AllotError invalid when one has not come in whole. */
  end(): void
  /** Leaves nothing of a repository that has not come in whole. */
  abandon(): Promise<void>
}

export const createRepositoryImport = ({ driver, git }: TransferParts): RepositoryImport => {
  let current: { id: number; incoming: BundleImport } | undefined

  const arriving = async (id: number): Promise<BundleImport> => {
    if (current === undefined) {
      await checkKnown(driver, id)
      current = { id, incoming: await accepting(git).receive(id) }
    }
    if (current.id !== id) throw headless(current.id)
    return current.incoming
  }

  return {
    part: async (id, part) => (await arriving(id)).write(part),
    async head(id, head) {
      const incoming = await arriving(id)
      await incoming.finish(head).catch((cause) => {
        throw unsound(id, cause)
      })
      current = undefined
    },
    end() {
      if (current !== undefined) throw headless(current.id)
    },
    async abandon() {
      await current?.incoming.abandon()
    },
  }
}

const headless = (id: number) => invalid(`the HEAD of repository ${id} is missing`)

const accepting = (git: GitStore | undefined): GitStore => {
  if (git === undefined) throw invalid('here is git data, and repositories are turned off: turn them on')
  return git
}

const checkKnown = async (driver: StorageDriver, id: number): Promise<void> => {
  if ((await driver.read((tx) => repositories.get(tx, [id]))) === undefined)
    throw invalid(`there is no repository ${id} for this git data`)
}

/** A disk that is full and a git that is missing say so themselves. */
const unsound = (id: number, cause: unknown): unknown =>
  cause instanceof AllotError || (cause instanceof Error && 'code' in cause)
    ? cause
    : new AllotError(
        'invalid',
        `the git data of repository ${id} is not sound: ${(cause as Error).message}`,
        {
          cause,
        },
      )
