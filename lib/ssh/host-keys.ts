import { randomBytes } from 'node:crypto'
import { chmod, link, open, readFile, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { ifExists, ifMissing, makeFolder, syncToDisk } from '../disk.ts'
import { AllotError } from '../errors.ts'
import { UNFINISHED } from '../git/folders.ts'
import type { Ssh2 } from './library.ts'

/** The types of keys that are made: all clients of the last ten years know one of them. */
const TYPES = ['ed25519', 'ecdsa'] as const
type KeyType = (typeof TYPES)[number]

/** The folder of the host keys, beside the git data: processes that serve the same repositories share it. */
export const hostKeyFolder = (repositories: string): string => join(repositories, 'ssh')

/**
 * The private keys of the server. The first start makes them, and they never change: clients refuse a server
 * whose key is another than last time.
 * @param file with a key of the operator's own, in place of those that are made
 * @throws AllotError misconfigured when a file has no key without a passphrase
 */
export const readHostKeys = async (
  ssh2: Ssh2,
  { file, repositories }: { file: string | undefined; repositories: string },
): Promise<string[]> => {
  const folder = hostKeyFolder(repositories)
  const files = file === undefined ? TYPES.map((type) => join(folder, `host_${type}`)) : [file]
  if (file === undefined) await Promise.all(TYPES.map((type, index) => makeOnce(ssh2, type, files[index]!)))
  return Promise.all(files.map((path) => readHostKey(ssh2, path)))
}

/** @throws AllotError misconfigured when the file has no private key, or one with a passphrase */
export const readHostKey = async ({ utils }: Ssh2, path: string): Promise<string> => {
  const text = await readFile(path, 'utf8').catch((cause: Error) => {
    throw new AllotError('misconfigured', `the SSH host key ${path} cannot be read: ${cause.message}`, {
      cause,
    })
  })
  const key = utils.parseKey(text)
  const fault = key instanceof Error ? key.message : key.isPrivateKey() ? undefined : 'it is a public key'
  if (fault === undefined) return text
  throw new AllotError(
    'misconfigured',
    `${path} is not a private SSH key without a passphrase (${fault}): make one with ssh-keygen -t ed25519 -N ''`,
  )
}

/** A private key that can be read: of the Ed25519 keys that ssh2 1.17 makes, one of 200 cannot. */
export const newHostKey = ({ utils }: Ssh2, type: KeyType): string => {
  for (;;) {
    const { private: key } =
      type === 'ecdsa' ? utils.generateKeyPairSync(type, { bits: 256 }) : utils.generateKeyPairSync(type)
    if (!(utils.parseKey(key) instanceof Error)) return key
  }
}

/**
 * Makes a key unless there is one. Of several processes that start together, one makes it: `link` never
 * replaces a file.
 */
const makeOnce = async (ssh2: Ssh2, type: KeyType, path: string): Promise<void> => {
  if ((await readFile(path).catch(ifMissing(undefined))) !== undefined) return
  const key = newHostKey(ssh2, type)
  const folder = dirname(path)
  await makeFolder(folder, 0o700)
  await chmod(folder, 0o700)
  const unfinished = `${path}.${randomBytes(6).toString('hex')}${UNFINISHED}`
  const handle = await open(unfinished, 'wx', 0o600)
  try {
    await handle.writeFile(key)
    await handle.sync()
  } finally {
    await handle.close()
  }
  await link(unfinished, path).catch(ifExists)
  await rm(unfinished)
  await syncToDisk(folder)
}
