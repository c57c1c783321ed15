import { existsSync } from 'node:fs'
import { OPERATOR } from '../../lib/accounts/host-identity.ts'
import { StorageError } from '../../lib/storage/index.ts'
import { folderOf, type StoreFlags, storeLocation } from '../config/store.ts'
import { open } from '../open.ts'
import { type RemoteFlags, remoteIn } from '../remote-options.ts'
import { type Api, createApi } from './api-client.ts'

export interface ApiFlags extends StoreFlags, RemoteFlags {}

/**
 * Works with the API of a running server where one is named, and otherwise with that of the store itself, which is opened
 * for as long as the work takes.
 * @param mayMake whether a store that is not there is made: what only looks would leave one behind
 */
export const withApi = async (
  flags: ApiFlags,
  work: (api: Api) => Promise<void>,
  { mayMake = false }: { mayMake?: boolean } = {},
): Promise<void> => {
  const remote = remoteIn(flags)
  if (remote !== undefined) return work(remote)
  if (!mayMake) requireStore(flags)
  const { allot, config } = await open(flags, { authenticate: () => OPERATOR }).catch(explainLocked)
  try {
    const call = (url: string, request: RequestInit) => allot.fetch(new Request(url, request))
    await work(createApi(`http://localhost${config.api.basePath}`, {}, call))
  } finally {
    await allot.close()
  }
}

/** @throws Error where there is no store; opening would make one. */
export const requireStore = (flags: StoreFlags): void => {
  const { storage, data } = storeLocation(flags)
  const folder = folderOf(storage, data)
  if (folder !== undefined && !existsSync(folder))
    throw new Error(`there is no store in ${folder}: name another folder with --data, or a server with --url`)
}

/** A store that a server has is reached through the server. */
export const explainLocked = (error: unknown): never => {
  const isLocked = error instanceof StorageError && error.reason === 'locked'
  throw isLocked ? new Error(`${error.message} (with --url and --token)`, { cause: error }) : error
}
