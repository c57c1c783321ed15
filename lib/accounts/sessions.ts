import { createHash, randomBytes } from 'node:crypto'
import { now } from '../clock.ts'
import { type Account, accounts, type Session, sessions, tokens } from '../records/schema/index.ts'
import type { Store, WriteContext } from '../records/store.ts'
import type { ReadTransaction } from '../storage/driver.ts'
import { type Credential, type Identity, identityOf, unauthenticated } from './identity.ts'

/** Who is signed in to the pages, by a secret that the browser keeps and the store does not. */
export interface Sessions {
  /** Seconds that one lasts, whatever is done in it. */
  readonly lifetime: number
  /**
   * @returns the secret
   * @throws AllotError unauthenticated when what was signed in with is no longer good.
   */
  begin(who: Credential): Promise<string>
  /** Undefined for one that is over: it has expired or was ended, or what it was begun with is no longer good. */
  find(secret: string): Promise<Identity | undefined>
  end(secret: string): Promise<void>
  /** Ends every session of an account. */
  endAll(account: number): Promise<void>
}

/** Whoever begins more of them ends the oldest. */
const MAX = 50
/** Of the expired ones so many go with each that begins, so that they never pile up. */
const SWEPT = 10

export const createSessions = (store: Store, lifetime: number): Sessions => ({
  lifetime,
  async begin({ account, token }) {
    const secret = randomBytes(32).toString('base64url')
    const createdAt = now()
    const session: Session = {
      hash: hashOf(secret),
      account: account.id,
      token: token?.id ?? null,
      password: token === null ? markOf(account) : null,
      createdAt,
      expiresAt: createdAt + lifetime,
    }
    await store.write(async (tx) => {
      if ((await holderOf(tx, session)) === undefined)
        throw unauthenticated('these credentials have just been changed')
      await makeRoom(tx, account.id)
      await sessions.save(tx, session)
    })
    return secret
  },
  find: (secret) =>
    store.read(async (tx) => {
      const session = await sessions.get(tx, [hashOf(secret)])
      const target = session && (await holderOf(tx, session))
      return target && identityOf(target)
    }),
  end: (secret) => store.write(async (tx) => void (await sessions.remove(tx, [hashOf(secret)]))),
  endAll: (account) => store.write((tx) => endSessions(tx, account)),
})

/** Of an account that is being deleted, too. */
export const endSessions = async (tx: WriteContext, account: number): Promise<void> => {
  for (const { hash } of await sessions.list(tx, 'account', { prefix: [account] }))
    await sessions.remove(tx, [hash])
}

/**
 * A session is held against what it was begun with whenever it is used, so that a revoked token, a changed password and
 * a deleted account end it from that moment on, whoever changed them and by whatever way.
 */
const holderOf = async (tx: ReadTransaction, session: Session): Promise<Credential | undefined> => {
  if (session.expiresAt <= now()) return undefined
  const [account, token] = await Promise.all([
    accounts.get(tx, [session.account]),
    session.token === null ? null : tokens.get(tx, [session.token]),
  ])
  if (account === undefined || !account.active || token === undefined) return undefined
  if (token === null && session.password !== markOf(account)) return undefined
  return { account, token }
}

const makeRoom = async (tx: WriteContext, account: number): Promise<void> => {
  const own = await sessions.list(tx, 'account', { prefix: [account] })
  const oldest = own.slice(0, Math.max(0, own.length - MAX + 1))
  const first = await sessions.list(tx, 'expiry', { prefix: [], limit: SWEPT })
  const expired = first.filter(({ expiresAt }) => expiresAt <= now())
  for (const { hash } of [...oldest, ...expired]) await sessions.remove(tx, [hash])
}

const hashOf = (secret: string): string => createHash('sha256').update(secret).digest('hex')

/** What a session remembers of a password: a hash of its salted hash. */
const markOf = ({ password }: Account): string => hashOf(password ?? '')
