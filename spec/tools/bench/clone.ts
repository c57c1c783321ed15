import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { atLeast, type Bench, inTurns } from './report/measure.ts'
import { host } from './servers/index.ts'

const exec = promisify(execFile)
const MIB = 20
export const gitEnvironment = {
  PATH: process.env.PATH,
  HOME: '/nowhere',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_AUTHOR_NAME: 'Ada',
  GIT_AUTHOR_EMAIL: 'ada@example.test',
  GIT_COMMITTER_NAME: 'Ada',
  GIT_COMMITTER_EMAIL: 'ada@example.test',
}

export const git = (cwd: string, ...words: string[]) =>
  exec('git', words, { cwd, env: gitEnvironment, maxBuffer: 2 ** 24 })

/** A repository of 400 files that cannot be packed any smaller. */
const filled = async (folder: string): Promise<string> => {
  await git(folder, 'init', '--quiet', '--initial-branch=main', 'checkout')
  const checkout = join(folder, 'checkout')
  for (let at = 0; at < 400; at++)
    writeFileSync(join(checkout, `file-${at}`), randomBytes((MIB * 1024 * 1024) / 400))
  await git(checkout, 'add', '--all')
  await git(checkout, 'commit', '--quiet', '--message', 'all')
  return checkout
}

/** MiB a second. */
const speed = async (folder: string, url: string): Promise<number> => {
  const target = join(folder, 'clone.git')
  const begun = performance.now()
  await git(folder, 'clone', '--quiet', '--bare', url, target)
  const took = performance.now() - begun
  rmSync(target, { recursive: true })
  return (MIB / took) * 1000
}

export const clone: Bench = {
  name: 'clone',
  async run({ rounds, say }) {
    say(`cloning ${MIB} MiB`)
    const folder = mkdtempSync(join(tmpdir(), 'allot-bench-'))
    const checkout = await filled(folder)
    const ours = await host('git')
    const { token, directory } = ours.told
    await git(
      checkout,
      'push',
      '--quiet',
      `http://bench:${token}@127.0.0.1:${ours.port}/bench/demo.git`,
      'main',
    )
    const plain = await host('http-backend', directory)
    try {
      const [value, reference] = (await inTurns(rounds, [
        () => speed(folder, `http://127.0.0.1:${ours.port}/bench/demo.git`),
        () => speed(folder, `http://127.0.0.1:${plain.port}/01/1.git`),
      ])) as [number, number]
      return [
        {
          name: `\`git clone\` of ${MIB} MiB`,
          value,
          reference,
          unit: 'MiB/s',
          against: '`git http-backend` behind bare node:http',
          ...atLeast(0.8, value / reference),
        },
      ]
    } finally {
      await Promise.all([ours.stop(), plain.stop()])
      rmSync(folder, { recursive: true, force: true })
    }
  },
}
