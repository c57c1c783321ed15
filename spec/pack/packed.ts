import { mkdirSync, mkdtempSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { fileURLToPath } from 'node:url'
import { type CommandOptions, type Output, run as runCommand } from '../support/child.ts'
import { endAll } from '../support/cleanup.ts'

/** Shared by the specs of the published package. They get its dependencies from the registry. */
export const root = fileURLToPath(new URL('../../', import.meta.url))

/** Folder outside of the checkout, so that nothing is resolved from its packages. */
export const folder = mkdtempSync(join(tmpdir(), 'allot-pack-'))

/** Milliseconds for a command, which may install packages or build. */
const COMMAND_MS = 300_000

after(endAll)

/**
 * Runs a command.
 * @throws Error with its output when its exit code is not 0, or when it does not end in time
 */
export const exec = (command: string, args: string[], options: CommandOptions = {}): Promise<Output> =>
  runCommand(command, args, { timeout: COMMAND_MS, ...options })

/**
 * Runs a command without the variables that npm sets for its scripts, which concern the checkout.
 * @returns standard output
 */
export const run = async (command: string, args: string[], cwd: string): Promise<string> => {
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !name.startsWith('npm_package')),
  )
  return (await exec(command, args, { cwd, env })).stdout
}

export interface Packed {
  filename: string
  files: { path: string; mode: number; size: number }[]
}

/**
 * Builds the package.
 * @returns the path of its archive, and what is in it
 */
export const pack = async (): Promise<Packed & { tarball: string }> => {
  const told = await run('npm', ['pack', '--json', '--pack-destination', folder], root)
  const [packed] = JSON.parse(told.slice(told.indexOf('[\n'))) as [Packed]
  return { ...packed, tarball: join(folder, packed.filename) }
}

/**
 * Installs packages in an empty folder, as a new user does.
 * @returns the folder
 */
export const install = async (name: string, ...packages: string[]): Promise<string> => {
  const project = join(folder, name)
  mkdirSync(project)
  await run('npm', ['install', '--no-fund', '--no-audit', '--prefer-offline', ...packages], project)
  return project
}

export const json = <T>(file: string): T => JSON.parse(readFileSync(file, 'utf8')) as T

/** Bytes of all files below a folder. */
export const sizeOf = (path: string): number => {
  const stat = statSync(path)
  if (!stat.isDirectory()) return stat.size
  return readdirSync(path).reduce((sum, name) => sum + sizeOf(join(path, name)), 0)
}
