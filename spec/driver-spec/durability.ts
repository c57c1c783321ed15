import assert from 'node:assert/strict'
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { describe, type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { StorageDriver } from '../../lib/storage/index.ts'
import { type Candidate, fixture, keysBelow, load, type Part, type Recipe, save } from './fixture.ts'

const isTypeScript = import.meta.url.endsWith('.ts')
const WRITER = fileURLToPath(
  new URL(isTypeScript ? './writer.ts' : './driver-spec/writer.js', import.meta.url),
)
const MIN_WRITES = 200
/** A writer that hangs is killed after this time. */
const WRITER_MS = 60_000

export const durability: Part = (candidate) => {
  if (!candidate.durable) return
  describe('a write that has resolved is durable', () => {
    test('another driver reads it', (t) => reopened(t, candidate))
    test('it survives a kill of the writing process', (t) => killed(t, candidate))
  })
}

const reopened = async (t: TestContext, candidate: Candidate): Promise<void> => {
  const { driver, reopen } = await fixture(t, candidate)
  assert.ok(reopen, 'the fixture of a durable driver needs `reopen`')
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
  assert.ok(recipe, 'the fixture of a durable driver needs `recipe`')
  const acknowledged = await writeAndKill(t, recipe)
  assert.ok(acknowledged.length >= MIN_WRITES, `only ${acknowledged.length} writes were acknowledged`)
  await driver.open()
  await holdsWhole(driver, acknowledged)
}

/** Each write puts two keys with the same number and increments a counter. */
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

/** Kills the writer while it writes. Returns the numbers that it had acknowledged. */
const writeAndKill = async (t: TestContext, recipe: Recipe): Promise<string[]> => {
  const loader = isTypeScript ? ['--import', import.meta.resolve('tsx')] : []
  const writer = spawn(process.execPath, [...loader, WRITER, JSON.stringify(recipe)], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const kill = () => void writer.kill('SIGKILL')
  const timer = setTimeout(kill, WRITER_MS)
  t.after(() => {
    clearTimeout(timer)
    kill()
  })
  let errors = ''
  writer.stderr.on('data', (chunk: Buffer) => {
    errors += chunk.toString()
  })
  const acknowledged = await linesUntilKilled(writer)
  assert.equal(writer.signalCode, 'SIGKILL', `the writer ended before it was killed: ${errors}`)
  return acknowledged
}

const linesUntilKilled = async (writer: ChildProcessByStdio<null, Readable, Readable>): Promise<string[]> => {
  const exited = once(writer, 'exit')
  const lines: string[] = []
  for await (const line of createInterface({ input: writer.stdout })) {
    lines.push(line)
    if (lines.length === MIN_WRITES) writer.kill('SIGKILL')
  }
  await exited
  return lines
}
