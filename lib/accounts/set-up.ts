import type { Actor } from '../audit.ts'
import { AllotError, invalidMember } from '../errors.ts'
import { type Account, accounts, tokens } from '../records/schema/index.ts'
import { type Store, takeNumber } from '../records/store.ts'
import type { ReadTransaction } from '../storage/index.ts'
import { administratorIn, blankAccount, insertUser } from './account-records.ts'
import { insertToken, newToken } from './credentials.ts'
import { accountByName } from './find.ts'

/** Options of `allot.setUp`. */
export interface SetUpOptions {
  /** Name of the administrator that a store without one gets. */
  admin: string
}

/** Result of `allot.setUp`. */
export interface SetUpResult {
  /**
   * The administrator's first token, with every scope. The store has only its hash, so this is the only time
   * that it can be shown. Undefined when the store had an administrator before, and with `tokens: false`.
   */
  token: string | undefined
}

/**
 * Creates the first administrator of a store and its token, in one transaction: of several processes that set
 * up the same store, one gets a token.
 */
export class SetUp {
  readonly #store: Store
  readonly #hasTokens: boolean

  /** @param hasTokens whether anything accepts a token */
  constructor(store: Store, hasTokens: boolean) {
    this.#store = store
    this.#hasTokens = hasTokens
  }

  /**
   * Does nothing in a store that has an administrator, with one exception: an administrator with the given
   * name who is the only user, and has neither a password nor a token, gets a token unless tokens are turned
   * off.
   * @param by who sets up the store, for the audit log; absent: the host
   * @throws AllotError invalid for a malformed name; conflict when the name belongs to an account that is not
   * an administrator
   */
  async run(options: SetUpOptions, by?: Actor): Promise<SetUpResult> {
    const admin: unknown = options?.admin
    if (typeof admin !== 'string')
      throw invalidMember('setUp', "expected the name of the first administrator, such as { admin: 'root' }")
    const isDone = (tx: ReadTransaction) => isSetUp(tx, admin, this.#hasTokens)
    // Almost every call ends here, and a read does not wait for writers.
    if (await this.#store.read(isDone)) return { token: undefined }
    const token = newToken()
    const account = { ...blankAccount('user', admin), admin: true }
    return this.#store.write(async (tx) => {
      if (await isDone(tx)) return { token: undefined }
      const { id } =
        (await administratorIn(tx)) ??
        (await insertUser(tx, { ...account, id: await takeNumber(tx, 'account') }, by))
      if (!this.#hasTokens) return { token: undefined }
      await insertToken(tx, { account: id, name: 'first token', scopes: ['all'], secret: token }, by)
      return { token }
    })
  }
}

/**
 * Whether there is nothing to do, see `SetUp.run`.
 * @throws AllotError conflict when another account has the name
 */
const isSetUp = async (tx: ReadTransaction, admin: string, hasTokens: boolean): Promise<boolean> => {
  const administrator = await administratorIn(tx)
  if (administrator !== undefined) return !hasTokens || !(await lacksToken(tx, administrator, admin))
  if ((await accountByName(tx, admin)) === undefined) return false
  throw new AllotError(
    'conflict',
    `setUp: the store has no administrator, and ${admin} is another account: choose another name, or make an account an administrator`,
  )
}

/** Whether the administrator is the only user and cannot sign in, as when its only token was revoked. */
const lacksToken = async (tx: ReadTransaction, { id, name, password }: Account, admin: string) =>
  name.toLowerCase() === admin.toLowerCase() &&
  password === null &&
  (await accounts.count(tx, 'kind', ['user'])) === 1 &&
  (await tokens.count(tx, 'account', [id])) === 0
