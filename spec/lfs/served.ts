import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { AllotOptions } from '../../lib/index.ts'
import { type ServedGit, startGit } from '../git/served.ts'
import { temporaryDirectory } from '../support/folder.ts'
import type { Person } from '../support/test-server.ts'

export const LFS = 'application/vnd.git-lfs+json'

export const sha256 = (content: Uint8Array | string): string =>
  createHash('sha256').update(content).digest('hex')

export interface Content {
  oid: string
  size: number
  bytes: Buffer
}

export const aContent = (size = 1000): Content => contentOf(randomBytes(size))

export const contentOf = (words: Uint8Array | string): Content => {
  const bytes = Buffer.from(words)
  return { oid: sha256(bytes), size: bytes.length, bytes }
}

export const token = (who?: Pick<Person, 'token'>): Record<string, string> =>
  who === undefined ? {} : { authorization: `token ${who.token}` }

export interface ServedLfs extends ServedGit {
  directory: string
  /** Sends an LFS request below a repository's `clone_url`. */
  lfs(
    path: string,
    method: string,
    at: string,
    who?: Pick<Person, 'token'>,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<{ status: number; headers: Headers; body: ReturnType<typeof JSON.parse>; bytes: Buffer }>
  batch(
    path: string,
    operation: string,
    who: Person | undefined,
    ...contents: { oid: string; size: number }[]
  ): Promise<ReturnType<typeof JSON.parse>>
  put(path: string, who: Person, content: Content): Promise<number>
  /** Sizes of the files on disk, unfinished uploads included. */
  filesOnDisk(area?: string): number[]
  lfsBytesOf(owner: string): Promise<number>
}

export const startLfs = async (options: Partial<AllotOptions> = {}): Promise<ServedLfs> => {
  const directory = temporaryDirectory()
  const allot = await startGit({ files: { directory }, ...options })

  const lfs: ServedLfs['lfs'] = async (path, method, at, who, body, headers = {}) => {
    const isBytes = body === undefined || body instanceof Uint8Array || typeof body === 'string'
    const answer = await fetch(`${allot.base}/${path}.git/info/lfs/${at}`, {
      method,
      headers: { ...token(who), ...(isBytes ? {} : { 'content-type': LFS, accept: LFS }), ...headers },
      ...(body === undefined ? {} : { body: isBytes ? (body as string) : JSON.stringify(body) }),
    })
    const bytes = Buffer.from(await answer.arrayBuffer())
    const isJson = answer.headers.get('content-type')?.startsWith(LFS) && bytes.length > 0
    return {
      status: answer.status,
      headers: answer.headers,
      bytes,
      body: isJson ? JSON.parse(bytes.toString('utf8')) : undefined,
    }
  }

  return {
    ...allot,
    directory,
    lfs,
    async batch(path, operation, who, ...contents) {
      const objects = contents.map(({ oid, size }) => ({ oid, size }))
      const { status, body } = await lfs(path, 'POST', 'objects/batch', who, { operation, objects })
      assert.equal(status, 200, JSON.stringify(body))
      return body.objects
    },
    put: async (path, who, { oid, size, bytes }) =>
      (await lfs(path, 'PUT', `objects/${oid}/${size}`, who, bytes)).status,
    filesOnDisk: (area = '') =>
      readdirSync(join(directory, area), { recursive: true, withFileTypes: true })
        .filter((one) => one.isFile())
        .map((one) => statSync(join(one.parentPath, one.name)).size),
    lfsBytesOf: async (owner) => Number((await allot.allot.quota.info(owner)).used.size.git.LFS),
  }
}
