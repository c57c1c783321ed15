import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import { createClientBudget } from '../client-budget.ts'

const derive = promisify<string, Buffer, number, object, Buffer>(scrypt)

const COST = 2 ** 15
const BLOCK_SIZE = 8
const PARALLEL = 1
const LENGTH = 32

/** Each derivation holds 32 MiB and a thread of the pool that file reads need too. */
const budget = createClientBudget({
  slots: 2,
  queue: 50,
  message: 'too many passwords are being checked at this moment: try again',
})

/** The client of what no request asks for. */
export const HOST = 'host'

/**
 * Hashes a password as `scrypt$N$r$p$salt$hash`, salt and hash in base64.
 * @param client whose budget pays
 * @param check runs when the derivation is about to begin; if it throws, nothing is derived
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

/** As slow as a wrong password, so that an answer's time does not tell which names exist. */
export const pretendToVerify = async (password: string, client: string): Promise<false> => {
  await hashPassword(password, client)
  return false
}

const deriveWith = (password: string, salt: Buffer, N: number, r: number, p: number, length: number) =>
  derive(password.normalize('NFKC'), salt, length, { N, r, p, maxmem: 256 * N * r })
