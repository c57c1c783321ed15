import type { ChildProcessWithoutNullStreams } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import type { AllotOptions, SshCommand } from '../../lib/index.ts'
import { attempt, type Outcome } from '../git/client.ts'
import { type ServedGit, startGit } from '../git/served.ts'
import { outcome, spawnChild } from '../support/child.ts'
import { atEnd, once as onlyOnce } from '../support/cleanup.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { generateSshKey, type SshKeyType } from '../support/keygen.ts'
import type { Person } from '../support/test-server.ts'

/** A started server with a listener for SSH, and OpenSSH as its client. */
export interface ServedSsh extends ServedGit {
  port: number
  /** The commands that have ended, as the listener is told of them. */
  commands: SshCommand[]
  /**
   * Makes a key pair, and stores the public key in an account.
   * @returns the file of the private key
   */
  key(person: Person, type?: SshKeyType, bits?: number): Promise<string>
  /** The URL of a repository. */
  url(path: string): string
}

/**
 * Makes a key pair.
 * @returns the file of the private key, and the public key
 */
export const keyPair = (type: SshKeyType = 'ed25519', bits?: number): { file: string; key: string } => {
  const { key, secret } = generateSshKey(type, bits)
  const file = join(temporaryDirectory(), 'key')
  writeFileSync(file, secret, { mode: 0o600 })
  return { file, key }
}

/** @param ssh options of the server; the port is that of the listener */
export const startSsh = async (
  options: Partial<AllotOptions> = {},
  ssh: AllotOptions['ssh'] = {},
  ...mounted: Parameters<typeof startGit> extends [unknown?, ...infer Rest] ? Rest : never
): Promise<ServedSsh> => {
  const listener = createServer()
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
  const { port } = listener.address() as AddressInfo
  const served = await startGit({ ...options, ssh: { port, ...ssh } }, ...mounted)
  const sockets = new Set<Socket>()
  const commands: SshCommand[] = []
  listener.on('connection', (socket) => {
    sockets.add(socket)
    served.allot.ssh(socket, { baseUrl: served.base, onCommand: (command) => commands.push(command) })
  })
  const stop = onlyOnce(async () => {
    listener.close()
    for (const socket of sockets) socket.destroy()
    await served.stop()
  })
  atEnd(stop)
  let keys = 0
  return {
    ...served,
    port,
    commands,
    async key(person, type, bits) {
      const { file, key } = keyPair(type, bits)
      await served.allot.sshKeys.add(person.id, { title: `key ${++keys}`, key })
      return file
    },
    url: (path) => `ssh://git@127.0.0.1:${port}/${path}.git`,
    stop,
  }
}

const OPTIONS = ['-F', 'none', '-o', 'BatchMode=yes', '-o', 'IdentitiesOnly=yes', '-o', 'LogLevel=ERROR']
const trusting = ['-o', 'StrictHostKeyChecking=no', '-o', 'UserKnownHostsFile=/dev/null']

/** Environment in which git signs in with a key. */
export const sshEnvironment = (file: string, ...more: string[]): Record<string, string> => ({
  GIT_SSH_COMMAND: ['ssh', ...OPTIONS, ...trusting, ...more, '-i', file].join(' '),
})

/**
 * Runs ssh.
 * @param command what to run on the server; none asks for a shell
 */
export const ssh = async (
  port: number,
  file: string,
  command: string[] = [],
  ...more: string[]
): Promise<Outcome> => {
  const options = [...OPTIONS, ...trusting, '-i', file, '-p', String(port), ...more]
  const { code, stdout, stderr } = await outcome('ssh', [...options, 'git@127.0.0.1', ...command])
  return { code: code ?? -1, out: stdout, err: stderr }
}

/** A command whose client sends nothing more until it is told to. */
export interface HeldCommand {
  readonly child: ChildProcessWithoutNullStreams
  /** Resolves at the first byte of output. */
  readonly begun: Promise<unknown>
  readonly ended: Promise<Outcome>
}

/** Starts a command, and keeps its standard input open. */
export const holdSsh = (port: number, file: string, command: string, ...more: string[]): HeldCommand => {
  const args = [...OPTIONS, ...trusting, '-i', file, '-p', String(port), ...more, 'git@127.0.0.1', command]
  const child = spawnChild('ssh', args)
  const told = { out: '', err: '' }
  child.stdout.on('data', (chunk: Buffer) => {
    told.out += chunk.toString('latin1')
  })
  child.stderr.on('data', (chunk: Buffer) => {
    told.err += chunk
  })
  const ended = once(child, 'close').then(([code]) => ({ code: code ?? -1, ...told }))
  return { child, begun: Promise.race([once(child.stdout, 'data'), ended]), ended }
}

/**
 * Runs git over SSH.
 * @returns its output.
 * @throws Error when the command fails
 */
export const gitWith = async (file: string, folder: string, ...args: string[]): Promise<string> => {
  const { code, out, err } = await attempt(folder, args, sshEnvironment(file))
  if (code !== 0) throw new Error(`git ${args.join(' ')} ended with ${code}: ${err}`)
  return out.trim()
}
