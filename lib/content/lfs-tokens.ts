import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'
import * as v from 'valibot'
import type { Identity } from '../accounts/access.ts'
import { unauthenticated } from '../accounts/credentials.ts'
import { identityOfKey } from '../accounts/keys.ts'
import { now } from '../clock.ts'
import type { Store } from '../records/store.ts'
import { findForGit } from '../repositories/redirects.ts'

/** Seconds. git-lfs asks for a new token when one has expired. */
const LIFETIME = 30 * 60

const Grant = v.object({
  /** Id of the SSH key that the client signed in with. */
  key: v.number(),
  repository: v.number(),
  /** `upload` includes downloads, as the scope `write:repository` does. */
  operation: v.picklist(['download', 'upload']),
  /** Seconds since 1970. */
  expires: v.number(),
})
type Grant = v.InferOutput<typeof Grant>

/** The key, the repository and the operation that a token is for. */
type LfsGrant = Omit<Grant, 'expires'>

const SCHEME = /^RemoteAuth +(\S+)$/

/**
 * Tokens that clients get over SSH for the LFS objects of one repository, over HTTP. Nothing is stored: a
 * token is signed, and every process that has the same SSH host key accepts it. Invariant: each use checks
 * the SSH key and the account again.
 */
export class LfsTokens {
  readonly #store: Store
  readonly #secret: Buffer

  /** @param hostKey private key of the SSH server, which the secret is derived from */
  constructor(store: Store, hostKey: string) {
    this.#store = store
    this.#secret = Buffer.from(hkdfSync('sha256', hostKey, '', 'allot git-lfs-authenticate', 32))
  }

  /** @returns an `Authorization` header, and when it expires, in seconds since 1970 */
  create(grant: LfsGrant): { authorization: string; expires: number } {
    const expires = now() + LIFETIME
    const payload = Buffer.from(JSON.stringify({ ...grant, expires })).toString('base64url')
    return { authorization: `RemoteAuth ${payload}.${this.#sign(payload)}`, expires }
  }

  /** Whether a request has a token of this kind, valid or not. */
  isToken(authorization: string | undefined): authorization is string {
    return authorization !== undefined && SCHEME.test(authorization)
  }

  /**
   * When a token expires, in seconds since 1970.
   * @throws AllotError unauthenticated
   */
  expiryOf(authorization: string): number {
    return this.#read(authorization).expires
  }

  /**
   * The user of a request for the LFS objects of a repository, with the scope of the token. A repository that
   * the user cannot read is left to the route, whose 404 does not reveal whether it exists.
   * @throws AllotError unauthenticated when the token is wrong, has expired or is for another repository, or
   * its SSH key was removed; forbidden when the account is not active
   */
  async authenticate(authorization: string, owner: string, name: string): Promise<Identity> {
    const { key, repository, operation } = this.#read(authorization)
    const scope = operation === 'upload' ? 'write:repository' : 'read:repository'
    const { user } = await this.#store.read((tx) => identityOfKey(tx, key, scope))
    const found = await findForGit(this.#store, user, owner, name)
    if (found !== undefined && found.repository.id !== repository)
      throw unauthenticated('this token for Git LFS is for another repository')
    return user
  }

  #read(authorization: string): Grant {
    const [payload = '', signature = ''] = SCHEME.exec(authorization)?.[1]?.split('.') ?? []
    if (!isEqual(signature, this.#sign(payload))) throw unauthenticated('the token for Git LFS is wrong')
    const grant = v.parse(Grant, JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')))
    if (grant.expires <= now()) throw unauthenticated('the token for Git LFS has expired')
    return grant
  }

  #sign(payload: string): string {
    return createHmac('sha256', this.#secret).update(payload).digest('base64url')
  }
}

const isEqual = (left: string, right: string): boolean => {
  const [given, expected] = [Buffer.from(left), Buffer.from(right)]
  return given.length === expected.length && timingSafeEqual(given, expected)
}
