import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { constants, deflateSync } from 'node:zlib'
import type { NewObject } from './pack.ts'

/**
 * Writes objects, each of another content, and a branch into an empty repository that nothing else uses yet,
 * each object into a file of its own (gitformat-loose-object).
 * @param commit of the branch
 */
export const writeBranch = async (
  folder: string,
  branch: string,
  commit: NewObject,
  objects: Iterable<NewObject>,
): Promise<void> => {
  const write = async (path: string, content: Buffer | string, mode?: number) => {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await writeFile(join(folder, path), content, { mode })
  }
  const writeObject = ({ type, id, content }: NewObject) => {
    const bytes = Buffer.concat([Buffer.from(`${type} ${content.length}\0`), content])
    // Git's own level for single objects.
    const compressed = deflateSync(bytes, { level: constants.Z_BEST_SPEED })
    return write(`objects/${id.slice(0, 2)}/${id.slice(2)}`, compressed, 0o444)
  }
  await Promise.all([...objects].map(writeObject).concat(write(`refs/heads/${branch}`, `${commit.id}\n`)))
}
