import { spawn } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { absentAs } from './disk.ts'
import { configured, ENVIRONMENT } from './environment.ts'
import { absent } from './run.ts'

/** A repository on its way out. */
export interface Bundle {
  /** What HEAD is: a branch such as `refs/heads/main`, or else a commit. */
  head: string
  /** A `git bundle` of everything that its references lead to; undefined when it has none. */
  parts: AsyncIterable<Uint8Array> | undefined
}

/** Undefined when there is no repository in the folder. */
export const createBundle = async (git: string, folder: string): Promise<Bundle | undefined> => {
  const head = await readFile(join(folder, 'HEAD'), 'utf8').catch(absentAs(undefined))
  if (head === undefined) return undefined
  const parts = (await hasReferences(folder)) ? bundle(git, folder) : undefined
  return { head: head.trim().replace(/^ref: /, ''), parts }
}

/** Looked up in the files: a process for each of a million empty repositories would take an hour. */
const hasReferences = async (folder: string): Promise<boolean> => {
  const packed = await readFile(join(folder, 'packed-refs'), 'utf8').catch(absentAs(''))
  if (/^[0-9a-f]{40,64} /m.test(packed)) return true
  const loose = await readdir(join(folder, 'refs'), { withFileTypes: true, recursive: true }).catch(
    absentAs([]),
  )
  return loose.some((entry) => entry.isFile())
}

/** No deadline: it takes as long as whoever reads it. */
async function* bundle(git: string, folder: string): AsyncGenerator<Uint8Array> {
  const args = [...configured(), `--git-dir=${folder}`, 'bundle', 'create', '--quiet', '-', '--all']
  const child = spawn(git, args, { env: ENVIRONMENT, stdio: ['ignore', 'pipe', 'pipe'] })
  let said = ''
  child.stderr.on('data', (chunk: Buffer) => {
    said += chunk.toString('utf8')
  })
  const ended = new Promise<Error | undefined>((resolve) => {
    child.on('error', (cause) => resolve(absent(git, cause)))
    child.on('close', (code) =>
      resolve(
        code === 0 ? undefined : new Error(`git bundle of ${folder} failed with ${code}: ${said.trim()}`),
      ),
    )
  })
  try {
    yield* child.stdout as AsyncIterable<Buffer>
    const failure = await ended
    if (failure !== undefined) throw failure
  } finally {
    // Whoever reads no further leaves git nothing to write for.
    child.kill()
  }
}
