import { createHash, randomBytes } from 'node:crypto'
import { now } from '../clock.ts'
import { AllotError } from '../errors.ts'
import { checkName } from '../quota/rules.ts'
import type { Page, Slice } from '../records/collection.ts'
import { type Token, tokens } from '../records/schema/index.ts'
import type { Store, WriteContext } from '../records/store.ts'
import { existingAccount } from './access.ts'

/** Scopes as Forgejo names them; `write:x` implies `read:x`. */
export const SCOPES = [
  'all',
  'read:user',
  'write:user',
  'read:repository',
  'write:repository',
  'read:organization',
  'write:organization',
  'read:package',
  'write:package',
  'read:issue',
  'write:issue',
  'read:admin',
  'write:admin',
  // Allows exports, which hold password hashes and private data. Neither `read:admin` nor `write:admin` includes it.
  'read:secrets',
  'read:misc',
  'write:misc',
] as const

export interface Tokens {
  /** @returns the secret, which is not stored: "A token is shown once, when it is made" */
  create(account: number, name: string, scopes: readonly string[]): Promise<{ token: Token; secret: string }>
  list(account: number, slice: Slice): Promise<Page<Token>>
  /** Removes a token by id, or by name when no own token has that id. @returns whether it existed */
  remove(account: number, idOrName: string): Promise<boolean>
}

/** @param onRevoked called with the hash of a removed token after the commit */
export const createTokens = (store: Store, onRevoked: (hash: string) => void): Tokens => ({
  async create(account, name, scopes) {
    checkName(name)
    const secret = randomBytes(20).toString('hex')
    const token: Token = {
      id: await store.sequences.next('token'),
      account,
      name,
      hash: hashToken(secret),
      lastEight: secret.slice(-8),
      scopes: checkScopes(scopes),
      createdAt: now(),
    }
    await store.write(async (tx) => {
      await existingAccount(tx, account)
      if ((await tokens.findBy(tx, 'name', [account, name])) !== undefined)
        throw new AllotError('bad_request', `a token named ${name} already exists`)
      await tokens.save(tx, token)
    })
    return { token, secret }
  },
  list: (account, slice) =>
    store.read(async (tx) => ({
      items: await tokens.list(tx, 'account', { prefix: [account], ...slice }),
      total: await tokens.count(tx, 'account', [account]),
    })),
  remove: (account, idOrName) =>
    store.write(async (tx) => {
      const token = await findToken(tx, account, idOrName)
      if (token === undefined) return false
      await removeToken(tx, token, onRevoked)
      return true
    }),
})

/** "only its SHA-256 is kept" */
export const hashToken = (secret: string): string => createHash('sha256').update(secret).digest('hex')

export const removeToken = async (
  tx: WriteContext,
  token: Token,
  onRevoked: (hash: string) => void,
): Promise<void> => {
  await tokens.remove(tx, [token.id])
  tx.afterCommit(() => onRevoked(token.hash))
}

const findToken = async (tx: WriteContext, account: number, idOrName: string): Promise<Token | undefined> => {
  const byId = /^\d{1,15}$/.test(idOrName) ? await tokens.get(tx, [Number(idOrName)]) : undefined
  if (byId?.account === account) return byId
  return tokens.findBy(tx, 'name', [account, idOrName])
}

export const checkScopes = (scopes: readonly string[]): string[] => {
  if (scopes.length === 0) throw new AllotError('bad_request', 'access token must have a scope')
  const unknown = scopes.find((scope) => !(SCOPES as readonly string[]).includes(scope))
  if (unknown !== undefined) throw new AllotError('bad_request', `invalid access token scope: ${unknown}`)
  return [...new Set(scopes)].sort()
}
