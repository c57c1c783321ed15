import { connect } from 'node:net'
import { hostKeyFolder, loadSsh2, readHostKey } from '../../lib/ssh/index.ts'
import type { Config } from '../config/config.ts'
import { type Check, failed, type Outcome, ok, warning } from './finding.ts'
import { isOpenToOthers } from './machine.ts'

const NEEDS_REPOSITORIES =
  'git over SSH needs repositories: set repositories under [api], or remove port under [ssh]'
const NO_BASE_URL =
  'clients of Git LFS are sent to the address of this machine: set base_url to the public URL'

/** @param repositories folder of the git data; undefined when the host of the library stores it */
export const sshChecks = (config: Config, repositories: string | undefined): Check[] => {
  const { baseUrl } = config.api
  if (config.ssh.port === undefined) return []
  if (repositories === undefined) return [['ssh', () => failed(NEEDS_REPOSITORIES)]]
  return [
    ['ssh host key', () => checkHostKey(config, repositories)],
    [
      'ssh',
      () => (baseUrl === undefined ? warning(NO_BASE_URL) : ok(`clients of Git LFS are sent to ${baseUrl}`)),
    ],
    ['ssh server', () => checkListener(config)],
  ]
}

const checkHostKey = async ({ ssh: { hostKey } }: Config, repositories: string): Promise<Outcome> => {
  if (hostKey === undefined)
    return ok(`the first start makes keys in ${hostKeyFolder(repositories)}: back them up`)
  await readHostKey(await loadSsh2(), hostKey)
  return (await isOpenToOthers(hostKey))
    ? warning(`other users can read ${hostKey}: run chmod 600 ${hostKey}`)
    : ok(hostKey)
}

const ANSWER_TIMEOUT_MS = 5000

/** Reads what the server that runs with this configuration says first. */
const checkListener = async ({ server: { host }, ssh: { port } }: Config): Promise<Outcome> => {
  const place = `${host}:${port}`
  try {
    const text = await greetingOf(host, port!)
    return /^SSH-2\.0-allot\r\n/.test(text)
      ? ok(`${place} answers`)
      : failed(`another program listens on ${place}: it says ${JSON.stringify(text.slice(0, 40))}`)
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    return code === 'ECONNREFUSED'
      ? ok(`no server runs at ${place}`)
      : failed(`${place} cannot be reached: ${message}`)
  }
}

const greetingOf = (host: string, port: number): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = connect(port, host)
    socket.setTimeout(ANSWER_TIMEOUT_MS, () =>
      socket.destroy(new Error(`no answer within ${ANSWER_TIMEOUT_MS} ms`)),
    )
    socket.once('error', reject)
    socket.once('end', () => resolve(''))
    socket.once('data', (chunk) => {
      resolve(chunk.toString('latin1'))
      socket.destroy()
    })
  })
