import { COSTS } from '../../lib/accounts/login.ts'
import { atEnd } from './cleanup.ts'

const { N } = COSTS

/** Lets passwords be hashed in milliseconds, until the end of the file. */
export const hashQuickly = (): void => {
  COSTS.N = 2 ** 10
  atEnd(hashSlowly)
}

/** Hashes passwords as the product does: in 0.1 s. */
export const hashSlowly = (): void => {
  COSTS.N = N
}
