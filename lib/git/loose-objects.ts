import { hash } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { constants, deflateSync } from 'node:zlib'

/** An object as git stores a single one: gitformat-loose-object. */
interface LooseObject {
  readonly id: string
  readonly compressed: Buffer
}

const looseObject = (type: 'blob' | 'tree' | 'commit', content: Buffer): LooseObject => {
  const bytes = Buffer.concat([Buffer.from(`${type} ${content.length}\0`), content])
  // Git's own level for single objects.
  const compressed = deflateSync(bytes, { level: constants.Z_BEST_SPEED })
  return { id: hash('sha1', bytes), compressed }
}

/**
 * The objects of a commit without parents.
 * @param files by name, without folders
 * @param author name and email address, without characters that end them, and the time, as in a commit
 * @returns the commit, and with it all that it refers to
 */
export const commitObjects = (
  files: readonly (readonly [name: string, text: string])[],
  author: string,
  message: string,
) => {
  const blobs = files.map(([name, text]) => ({ name, blob: looseObject('blob', Buffer.from(text)) }))
  // By the bytes of the names, as git requires it.
  blobs.sort((left, right) => Buffer.compare(Buffer.from(left.name), Buffer.from(right.name)))
  const entries = blobs.flatMap(({ name, blob }) => [
    Buffer.from(`100644 ${name}\0`),
    Buffer.from(blob.id, 'hex'),
  ])
  const tree = looseObject('tree', Buffer.concat(entries))
  const text = `tree ${tree.id}\nauthor ${author}\ncommitter ${author}\n\n${message}`
  const commit = looseObject('commit', Buffer.from(text))
  return { commit, objects: [...blobs.map(({ blob }) => blob), tree, commit] }
}

/** Writes objects, each of another content, and a branch into an empty repository that nothing else uses yet. */
export const writeBranch = async (
  folder: string,
  branch: string,
  { commit, objects }: ReturnType<typeof commitObjects>,
): Promise<void> => {
  const write = async (path: string, content: Buffer | string, mode?: number) => {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await writeFile(join(folder, path), content, { mode })
  }
  const writeObject = ({ id, compressed }: LooseObject) =>
    write(`objects/${id.slice(0, 2)}/${id.slice(2)}`, compressed, 0o444)
  await Promise.all([...objects.map(writeObject), write(`refs/heads/${branch}`, `${commit.id}\n`)])
}
