import { createFileStore } from './files/index.ts'
import { createGitStore } from './git/index.ts'
import { type AllotOptions, checked, Options } from './options.ts'
import type { LastLine, OnProgress } from './transfer/format.ts'
import { importStore } from './transfer/import.ts'

/**
 * Reads what `allot.export` has written into a store that has nothing in it, of whatever driver.
 * @param told how far it has come
 * @throws AllotError conflict when the store is not empty; invalid naming the line when the file is cut short or changed.
 */
export const importAllot = async (
  { driver, ...folders }: Pick<AllotOptions, 'driver' | 'repositories' | 'files'>,
  source: AsyncIterable<Uint8Array>,
  told?: OnProgress,
): Promise<LastLine> => {
  const options = checked(Options, folders)
  const git = options.repositories === false ? undefined : createGitStore(options.repositories)
  await driver.open()
  try {
    return await importStore({ driver, git, files: createFileStore(options.files) }, source, told)
  } finally {
    await driver.close()
  }
}
