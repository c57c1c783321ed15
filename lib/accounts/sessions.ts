import { createHash, randomBytes } from 'node:crypto'
import { now } from '../clock.ts'
import { type Account, accounts, type Session, sessions, tokens } from '../records/schema/index.ts'
import type { Store, WriteContext } from '../records/store.ts'
import type { ReadTransaction } from '../storage/index.ts'
import { type Credential, type Identity, identityOf, unauthenticated } from './identity.ts'

/** Sessions of the pages. The browser keeps the secret; the store has only its hash. */
export interface Sessions {
  /** Seconds from the sign-in until the session expires. */
  readonly lifetime: number
  /**
   * @returns the secret
   * @throws AllotError unauthenticated when the credential was revoked or changed meanwhile
   */
  begin(credential: Credential): Promise<string>
  /** Undefined when the session expired or was ended, or its credential is no longer valid. */
  find(secret: string): Promise<Identity | undefined>
  end(secret: string): Promise<void>
  /** Ends every session of an account. */
  endAll(account: number): Promise<void>
}

/** Sessions that an account can have; a further sign-in ends the oldest. */
const MAX_SESSIONS = 50
/** Expired sessions that each sign-in removes, so that they do not accumulate. */
const EXPIRED_BATCH = 10

export const createSessions = (store: Store, lifetime: number): Sessions => ({
  lifetime,
  async begin({ account, token }) {
    const secret = randomBytes(32).toString('base64url')
    const createdAt = now()
    const session: Session = {
      hash: hashOf(secret),
      account: account.id,
      token: token?.id ?? null,
      password: token === null ? passwordHash(account) : null,
      createdAt,
      expiresAt: createdAt + lifetime,
    }
    await store.write(async (tx) => {
      if ((await credentialOf(tx, session)) === undefined)
        throw unauthenticated('the credentials were changed during the sign-in: sign in again')
      await makeRoom(tx, account.id)
      await sessions.save(tx, session)
    })
    return secret
  },
  find: (secret) =>
    store.read(async (tx) => {
      const session = await sessions.get(tx, [hashOf(secret)])
      const credential = session && (await credentialOf(tx, session))
      return credential && identityOf(credential)
    }),
  end: (secret) => store.write(async (tx) => void (await sessions.remove(tx, [hashOf(secret)]))),
  endAll: (account) => store.write((tx) => endSessions(tx, account)),
})

export const endSessions = async (tx: WriteContext, account: number): Promise<void> => {
  for (const { hash } of await sessions.list(tx, 'account', { prefix: [account] }))
    await sessions.remove(tx, [hash])
}

/**
 * Every use of a session checks its credential again: a revoked token, a changed password or a deleted account ends the
 * session at that moment, whichever way they were changed.
 */
const credentialOf = async (tx: ReadTransaction, session: Session): Promise<Credential | undefined> => {
  if (session.expiresAt <= now()) return undefined
  const [account, token] = await Promise.all([
    accounts.get(tx, [session.account]),
    session.token === null ? null : tokens.get(tx, [session.token]),
  ])
  if (account === undefined || !account.active || token === undefined) return undefined
  if (token === null && session.password !== passwordHash(account)) return undefined
  return { account, token }
}

const makeRoom = async (tx: WriteContext, account: number): Promise<void> => {
  const own = await sessions.list(tx, 'account', { prefix: [account] })
  const oldest = own.slice(0, Math.max(0, own.length - MAX_SESSIONS + 1))
  const first = await sessions.list(tx, 'expiry', { prefix: [], limit: EXPIRED_BATCH })
  const expired = first.filter(({ expiresAt }) => expiresAt <= now())
  for (const { hash } of [...oldest, ...expired]) await sessions.remove(tx, [hash])
}

const hashOf = (secret: string): string => createHash('sha256').update(secret).digest('hex')

/** Hash of the stored password hash: tells whether the password changed. */
const passwordHash = ({ password }: Account): string => hashOf(password ?? '')
