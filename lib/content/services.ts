/** What all contents of repositories and accounts share. */
import type { WriteContext } from '../records/store.ts'
import type { RepositoryServices } from '../repositories/repositories.ts'

/** The services that the contents of repositories and accounts need. */
export type ContentServices = RepositoryServices

/**
 * Runs a write that can delete files, and waits until they are deleted.
 * @returns whether the write removed something
 */
export const removeWithFiles = async (
  { store, disk }: ContentServices,
  write: (tx: WriteContext) => Promise<boolean>,
): Promise<boolean> => {
  const isRemoved = await store.write(write)
  if (isRemoved) await disk.idle()
  return isRemoved
}
