import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { Refreshed } from '../../lib/content/usage/refreshed.ts'
import { deferred } from '../../lib/deferred.ts'

describe('A value that takes long to read', () => {
  const HOUR = 3_600_000

  it('is not waited for, and shown as it was before until it is read again', async (t) => {
    let reading = deferred<string>()
    const value = new Refreshed(
      () => reading.promise,
      () => HOUR,
    )
    assert.equal(await value.get(), undefined)
    reading.resolve('first')
    assert.equal(await value.get(), 'first')
    reading = deferred()
    t.mock.timers.enable({ apis: ['Date'], now: Date.now() + 2 * HOUR })
    assert.equal(await value.get(), 'first')
    t.mock.timers.tick(24 * HOUR)
    assert.equal(await value.get(), undefined, 'not after a day')
    reading.resolve('second')
    assert.equal(await value.get(), 'second')
  })

  it('is shown at once, as it was before, when it is soon asked for again', async (t) => {
    const left = [Promise.resolve('first'), deferred<string>().promise]
    const value = new Refreshed(
      () => left.shift()!,
      () => HOUR,
    )
    assert.equal(await value.get(), 'first')
    t.mock.timers.enable({ apis: ['Date'], now: Date.now() + 1.5 * HOUR })
    assert.equal(await Promise.race([value.get(), setImmediate('waits')]), 'first')
    assert.deepEqual(left, [], 'and read again')
  })

  it('is waited for after a change, also while an older reading runs', async (t) => {
    const readings = [deferred<string>(), deferred<string>(), deferred<string>()]
    const left = [...readings]
    const value = new Refreshed(
      () => left.shift()!.promise,
      () => HOUR,
    )
    readings[0]!.resolve('first')
    assert.equal(await value.get(), 'first')
    t.mock.timers.enable({ apis: ['Date'], now: Date.now() + 2 * HOUR })
    assert.equal(await value.get(), 'first')
    value.changed()
    const changed = value.get()
    readings[2]!.resolve('after the change')
    assert.equal(await changed, 'after the change')
    readings[1]!.resolve('before the change')
    assert.equal(await value.get(), 'after the change')
  })
})
