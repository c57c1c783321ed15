import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { LoginThrottle } from '../../lib/accounts/login-throttle.ts'
import { AllotError } from '../../lib/errors.ts'

const MINUTE = 60_000
const limits = {
  window: 10 * MINUTE,
  failures: 5,
  failuresFromAddress: 20,
  failuresForName: 30,
  wrongTokens: 20,
}

/** Attempts at a clock that stands still until it is moved. */
const counted = () => {
  let time = 1_000_000
  const attempts = new LoginThrottle(limits, () => time)
  const waitOf = (login: string, address: string): number => {
    try {
      attempts.check({ login, address })
      return 0
    } catch (error) {
      assert.ok(error instanceof AllotError && error.code === 'too_many_requests')
      return error.retryAfter!
    }
  }
  /** Tries until it is refused, at most `most` times; answers how many were taken. */
  const failing = (login: string, address: string, most = 1000): number => {
    let taken = 0
    while (taken < most && waitOf(login, address) === 0) {
      attempts.consume({ login, address })
      taken++
    }
    return taken
  }
  const pass = (milliseconds: number) => {
    time += milliseconds
  }
  return { attempts, waitOf, failing, pass }
}

describe('Failed logins', () => {
  it('are limited for one name from one address, then one more is allowed after each share of the window', () => {
    const { failing, waitOf, pass } = counted()
    assert.equal(failing('alice', 'a'), 5)
    assert.equal(waitOf('alice', 'a'), 120)
    assert.equal(waitOf('ALICE', 'a'), 120)
    pass(2 * MINUTE)
    assert.equal(failing('alice', 'a'), 1)
    pass(10 * MINUTE)
    assert.equal(failing('alice', 'a'), 5)
  })

  it('for one name from many addresses leave each address one try at a time, and lock no user out', () => {
    const { failing, waitOf } = counted()
    for (let address = 0; address < 6; address++) assert.equal(failing('alice', `bot ${address}`), 5)
    for (let address = 6; address < 50; address++) assert.equal(failing('alice', `bot ${address}`), 1)
    assert.equal(waitOf('alice', 'home'), 0)
    assert.equal(waitOf('bob', 'bot 7'), 0)
  })

  it('still count in full after logins that succeed while no further failure fits', () => {
    const { attempts, failing, waitOf } = counted()
    for (let address = 0; address < 6; address++) failing('alice', `bot ${address}`)
    attempts.succeeded({ login: 'alice', address: 'home' })
    for (let time = 0; time < 30; time++) attempts.consume({ login: 'alice', address: 'home' })()
    assert.equal(failing('alice', 'bot 6'), 1, 'the name is still under attack')
    assert.equal(waitOf('alice', 'home'), 0)
  })

  it('with tokens count apart from those with passwords', () => {
    const { attempts, waitOf } = counted()
    for (let time = 0; time < 20; time++) attempts.wrongToken('a')
    assert.throws(() => attempts.wrongToken('a'), { code: 'too_many_requests', retryAfter: 30 })
    attempts.wrongToken('b')
    assert.equal(waitOf('alice', 'a'), 0)
  })

  it('never exceed the limit and the share that has expired since', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 5 * MINUTE }), { maxLength: 200 }), (pauses) => {
        const { failing, pass } = counted()
        let [taken, elapsed] = [0, 0]
        for (const pause of pauses) {
          taken += failing('alice', 'a', 3)
          assert.ok(taken <= 5 + (elapsed * 5) / limits.window + 1e-6)
          pass(pause)
          elapsed += pause
        }
      }),
    )
  })
})
