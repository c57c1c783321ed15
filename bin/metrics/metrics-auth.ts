import type { IncomingMessage } from 'node:http'
import type { Allot } from '../../lib/allot.ts'
import { AllotError } from '../../lib/errors.ts'
import { checkIdentity, checkScopes } from '../../lib/http/scopes.ts'

/** Who may read the metrics: names of routes and counts of people are nobody else's business. */
export type MetricsReaders = 'token' | 'loopback'

const LOOPBACK = /^(?:::ffff:)?127\.|^::1$/
const FORWARDED = ['x-forwarded-for', 'forwarded', 'via', 'x-real-ip', 'cf-connecting-ip']

/** Whoever asks from this very machine, and for nobody else as far as can be seen. */
const isLocal = (req: IncomingMessage): boolean =>
  LOOPBACK.test(req.socket.remoteAddress ?? '') && FORWARDED.every((name) => req.headers[name] === undefined)

const administration = { auth: 'admin', scope: 'read:admin' } as const

/** @throws AllotError unauthenticated or forbidden for whoever may not. */
export const authorizeMetrics = async (
  { hosting }: Pick<Allot, 'hosting'>,
  readers: MetricsReaders,
  req: IncomingMessage,
): Promise<void> => {
  if (readers === 'loopback' && req.headers.authorization === undefined && isLocal(req)) return
  const identity = await hosting.identities.authenticate(req)
  if (identity === null) throw new AllotError('unauthenticated', 'metrics are for administrators')
  checkScopes(identity, administration)
  checkIdentity(identity, administration)
}
