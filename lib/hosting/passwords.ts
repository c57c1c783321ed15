import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import { createBounds } from './bounds.ts'

const derive = promisify<string, Buffer, number, object, Buffer>(scrypt)

const COST = 2 ** 15
const BLOCK_SIZE = 8
const PARALLEL = 1
const LENGTH = 32

/** How many derivations run at once: each holds 32 MiB and a thread of the pool that file reads need too. */
const AT_ONCE = 2
/** A few seconds' work; whoever comes then is told to come again. */
const LONGEST_QUEUE = 50
const bounded = createBounds(AT_ONCE, LONGEST_QUEUE, 'too many passwords are being checked at this moment')

/** `scrypt$N$r$p$salt$hash`, salt and hash in base64. */
export const hashPassword = async (password: string): Promise<string> => {
  const salt = randomBytes(16)
  const hash = await bounded(() => deriveWith(password, salt, COST, BLOCK_SIZE, PARALLEL, LENGTH))
  return ['scrypt', COST, BLOCK_SIZE, PARALLEL, salt.toString('base64'), hash.toString('base64')].join('$')
}

export const verifyPassword = async (password: string, stored: string): Promise<boolean> => {
  const [, cost, blockSize, parallel, salt, hash] = stored.split('$')
  const expected = Buffer.from(hash!, 'base64')
  const actual = await bounded(() =>
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
export const pretendToVerify = async (password: string): Promise<false> => {
  await hashPassword(password)
  return false
}

const deriveWith = (password: string, salt: Buffer, N: number, r: number, p: number, length: number) =>
  derive(password.normalize('NFKC'), salt, length, { N, r, p, maxmem: 256 * N * r })
