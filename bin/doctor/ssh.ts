import { connect } from 'node:net'
import { hostKeyFolder, loadSsh2, readHostKey } from '../../lib/ssh/index.ts'
import type { Config } from '../config/config.ts'
import { type Finding, finding } from './finding.ts'
import { isOpenToOthers } from './machine.ts'

/** @param repositories folder of the git data; undefined when the host of the library stores it */
export const checkSsh = async (config: Config, repositories: string | undefined): Promise<Finding[]> => {
  if (config.ssh.port === undefined) return []
  if (repositories === undefined)
    return [
      finding(
        'ssh',
        'failed',
        'git over SSH needs repositories: set repositories under [api], or remove port under [ssh]',
      ),
    ]
  return [await checkHostKey(config, repositories), checkBaseUrl(config), await checkListener(config)]
}

const checkHostKey = async ({ ssh: { hostKey } }: Config, repositories: string): Promise<Finding> => {
  const check = 'ssh host key'
  if (hostKey === undefined)
    return finding(check, 'ok', `the first start makes keys in ${hostKeyFolder(repositories)}: back them up`)
  try {
    await readHostKey(await loadSsh2(), hostKey)
    return (await isOpenToOthers(hostKey))
      ? finding(check, 'warning', `other users can read ${hostKey}: run chmod 600 ${hostKey}`)
      : finding(check, 'ok', hostKey)
  } catch (error) {
    return finding(check, 'failed', (error as Error).message)
  }
}

const checkBaseUrl = ({ api }: Config): Finding =>
  api.baseUrl === undefined
    ? finding(
        'ssh',
        'warning',
        'clients of Git LFS are sent to the address of this machine: set base_url to the public URL',
      )
    : finding('ssh', 'ok', `clients of Git LFS are sent to ${api.baseUrl}`)

const ANSWER_TIMEOUT_MS = 5000

/** Reads what the server that runs with this configuration says first. */
const checkListener = async ({ server: { host }, ssh: { port } }: Config): Promise<Finding> => {
  const place = `${host}:${port}`
  try {
    const text = await greetingOf(host, port!)
    return /^SSH-2\.0-allot\r\n/.test(text)
      ? finding('ssh server', 'ok', `${place} answers`)
      : finding(
          'ssh server',
          'failed',
          `another program listens on ${place}: it says ${JSON.stringify(text.slice(0, 40))}`,
        )
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    return code === 'ECONNREFUSED'
      ? finding('ssh server', 'ok', `no server runs at ${place}`)
      : finding('ssh server', 'failed', `${place} cannot be reached: ${message}`)
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
