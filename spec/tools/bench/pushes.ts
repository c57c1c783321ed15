import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { git, gitEnvironment } from './clone.ts'
import { atLeast, inTurns, type Measurement } from './report/measure.ts'
import { hostOnAllCores } from './servers/index.ts'
import type { Program } from './servers/program.ts'

/** A commit with one file, as `auto_init` makes it. */
const FIRST_COMMIT = `commit refs/heads/main
committer Ada <ada@example.test> 1700000000 +0000
data 14
Initial commit
M 100644 inline README.md
data 7
# demo

`

/** A bare repository with its first commit. */
export const initialize = async (directory: string): Promise<void> => {
  mkdirSync(directory)
  await git(directory, 'init', '--quiet', '--bare', '--initial-branch=main')
  const child = execFile('git', ['fast-import', '--quiet'], { cwd: directory, env: gitEnvironment })
  child.stdin!.end(FIRST_COMMIT)
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`git fast-import ended with ${code}`)
}

const PUSHES = 10

/**
 * Commits of one file each, pushed one after another.
 * @returns pushes a second
 */
const pushTo = async (checkout: string, url: string): Promise<number> => {
  const commits: string[] = []
  for (let number = 0; number < PUSHES; number++) {
    writeFileSync(join(checkout, 'file'), `${performance.now()} ${number}`)
    await git(checkout, 'add', 'file')
    await git(checkout, 'commit', '--quiet', '--message', 'one')
    commits.push((await git(checkout, 'rev-parse', 'HEAD')).stdout.trim())
  }
  const begun = performance.now()
  for (const commit of commits) await git(checkout, 'push', '--quiet', url, `${commit}:refs/heads/main`)
  return (PUSHES / (performance.now() - begun)) * 1000
}

const checkoutIn = async (folder: string, name: string): Promise<string> => {
  await git(folder, 'init', '--quiet', '--initial-branch=main', name)
  return join(folder, name)
}

/** A push is checked and on the disk before it is acknowledged, on both sides. */
const SETTINGS = [
  ['http.receivepack', 'true'],
  ['receive.fsckObjects', 'true'],
  ['receive.autogc', 'false'],
  ['core.fsync', 'objects,derived-metadata,reference'],
  ['core.fsyncMethod', 'batch'],
] as const

/** Pushes of one commit, against `git http-backend`. */
export const pushes = async (
  { port, token }: Program,
  repository: string,
  folder: string,
  rounds: number,
): Promise<Measurement> => {
  const [ours, theirs] = [await checkoutIn(folder, 'ours'), await checkoutIn(folder, 'theirs')]
  await git(folder, 'init', '--quiet', '--bare', 'pushed.git')
  for (const [name, value] of SETTINGS) await git(join(folder, 'pushed.git'), 'config', name, value)
  const backend = await hostOnAllCores('http-backend', folder)
  try {
    const [value, reference] = (await inTurns(rounds, [
      () => pushTo(ours, `http://root:${token}@127.0.0.1:${port}/root/${repository}.git`),
      () => pushTo(theirs, `http://127.0.0.1:${backend.port}/pushed.git`),
    ])) as [number, number]
    return {
      ...{ name: 'a push of one commit, one after another', value, reference, unit: 'requests/s' },
      ...{ against: '`git http-backend` with the same checks and syncs, behind bare node:http' },
      ...atLeast(0.9, value / reference),
    }
  } finally {
    await backend.stop()
  }
}
