import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { describe, type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { StorageDriver } from '../../lib/storage/index.ts'
import { type Candidate, fixture, keysBelow, load, type Part, type Recipe, save } from './fixture.ts'

const isTypeScript = import.meta.url.endsWith('.ts')
const WRITER = fileURLToPath(
  new URL(isTypeScript ? './writer.ts' : './driver-spec/writer.js', import.meta.url),
)
const ENOUGH = 200

export const durability: Part = (candidate) => {
  if (!candidate.durable) return
  describe('what has resolved is durable', () => {
    test('it is there for another driver', (t) => reopened(t, candidate))
    test('it is there when the writer is killed while it writes', (t) => killed(t, candidate))
  })
}

const reopened = async (t: TestContext, candidate: Candidate): Promise<void> => {
  const { driver, reopen } = await fixture(t, candidate)
  assert.ok(reopen, 'a durable driver can be made again')
  await driver.open()
  await save(driver, { key: 'value' })
  await driver.close()
  const next = await reopen()
  await next.open()
  assert.equal(await load(next, 'key'), 'value')
  await next.close()
}

const killed = async (t: TestContext, candidate: Candidate): Promise<void> => {
  const { driver, recipe } = await fixture(t, candidate)
  assert.ok(recipe, 'a durable driver can be made by another process')
  const acknowledged = await writeAndKill(recipe)
  assert.ok(acknowledged.length >= ENOUGH, `only ${acknowledged.length} writes were acknowledged`)
  await driver.open()
  await holdsWhole(driver, acknowledged)
}

/** Each write put two keys of the same number and counted itself. */
const holdsWhole = async (driver: StorageDriver, acknowledged: readonly string[]): Promise<void> => {
  const [lefts, rights] = await driver.read(async (tx) => [
    await keysBelow(tx, 'left/'),
    await keysBelow(tx, 'right/'),
  ])
  const found = new Set(lefts)
  for (const number of acknowledged)
    assert.ok(found.has(`left/${number}`), `write ${number} was acknowledged`)
  assert.deepEqual(
    lefts!.map((key) => key?.slice('left/'.length)),
    rights!.map((key) => key?.slice('right/'.length)),
  )
  assert.equal(Number(await load(driver, 'count')), lefts!.length)
}

/** The numbers that the writer had printed when it was killed, in the midst of further writes. */
const writeAndKill = async (recipe: Recipe): Promise<string[]> => {
  const loader = isTypeScript ? ['--import', import.meta.resolve('tsx')] : []
  const writer = spawn(process.execPath, [...loader, WRITER, JSON.stringify(recipe)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const acknowledged = await linesUntilKilled(writer)
  assert.equal(writer.signalCode, 'SIGKILL', 'the writer was still writing')
  return acknowledged
}

const linesUntilKilled = async (writer: ChildProcess): Promise<string[]> => {
  const exited = once(writer, 'exit')
  const lines: string[] = []
  for await (const line of createInterface({ input: writer.stdout! })) {
    lines.push(line)
    if (lines.length === ENOUGH) writer.kill('SIGKILL')
  }
  await exited
  return lines
}
