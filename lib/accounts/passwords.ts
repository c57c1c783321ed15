import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import { createClientBudget } from '../client-budget.ts'

const derive = promisify<string, Buffer, number, object, Buffer>(scrypt)

const COST = 2 ** 15
const BLOCK_SIZE = 8
const PARALLEL = 1
const LENGTH = 32

/** A derivation takes 32 MiB and a thread of libuv's pool, which file reads need too. */
const budget = createClientBudget({
  slots: 2,
  queue: 50,
  message: 'too many passwords are being checked at this moment: try again',
})

/** Client name for work that does not belong to a request. */
export const HOST = 'host'

/**
 * Hashes a password as `scrypt$N$r$p$salt$hash`, salt and hash in base64.
 * @param client the client whose budget the derivation counts against
 * @param check runs before the derivation begins; when it throws, nothing is derived
 * @throws AllotError unavailable within 2 seconds when too many derivations wait
 */
export const hashPassword = async (
  password: string,
  client: string,
  check: () => Promise<unknown> = async () => undefined,
): Promise<string> => {
  const salt = randomBytes(16)
  const hash = await budget.run(client, async () => {
    await check()
    return deriveWith(password, salt, COST, BLOCK_SIZE, PARALLEL, LENGTH)
  })
  return ['scrypt', COST, BLOCK_SIZE, PARALLEL, salt.toString('base64'), hash.toString('base64')].join('$')
}

/** @throws AllotError as `hashPassword` does */
export const verifyPassword = async (password: string, stored: string, client: string): Promise<boolean> => {
  const [, cost, blockSize, parallel, salt, hash] = stored.split('$')
  const expected = Buffer.from(hash!, 'base64')
  const actual = await budget.run(client, () =>
    deriveWith(
      password,
      Buffer.from(salt!, 'base64'),
      Number(cost),
      Number(blockSize),
      Number(parallel),
      expected.length,
    ),
  )
  return timingSafeEqual(actual, expected)
}

/** Takes as long as a wrong password, so that the response time does not reveal which names exist. */
export const pretendToVerify = async (password: string, client: string): Promise<false> => {
  await hashPassword(password, client)
  return false
}

const deriveWith = (password: string, salt: Buffer, N: number, r: number, p: number, length: number) =>
  derive(password.normalize('NFKC'), salt, length, { N, r, p, maxmem: 256 * N * r })
