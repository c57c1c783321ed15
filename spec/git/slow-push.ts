import { type ClientRequest, type IncomingMessage, request } from 'node:http'
import { spawnChild } from '../support/child.ts'
import { git } from './client.ts'

/** A pack of all objects that some commits reach, without those of names with `^`. */
const packOf = async (checkout: string, names: string[]): Promise<Buffer> => {
  const args = ['pack-objects', '--stdout', '--revs', '--quiet']
  const child = spawnChild('git', args, { cwd: checkout })
  child.stdin.end(`${names.join('\n')}\n`)
  child.stderr.resume()
  return Buffer.concat(await child.stdout.toArray())
}

export const pktLine = (text: string): string =>
  (Buffer.byteLength(text) + 4).toString(16).padStart(4, '0') + text

const NONE = '0'.repeat(40)

/** The request body of a push that creates branches. */
export const pushBody = async (checkout: string, ...branches: string[]): Promise<Buffer> => {
  const commit = await git(checkout, 'rev-parse', 'HEAD')
  const commands = branches.map((branch, at) =>
    pktLine(
      `${NONE} ${commit} refs/heads/${branch}${at > 0 ? '' : '\0 report-status side-band-64k agent=spec'}`,
    ),
  )
  return Buffer.concat([Buffer.from(`${commands.join('')}0000`), await packOf(checkout, [commit])])
}

export interface Begun {
  /** Sends the rest and reads the response. */
  finish(): Promise<{ status: number; text: string }>
  /** Closes the connection. */
  vanish(): void
  /** Resolves with the error code when the connection fails. */
  readonly broken: Promise<string>
}

/** Sends half of a push, and waits. */
export const beginPush = async (url: string, token: string, body: Buffer): Promise<Begun> => {
  const half = Math.floor(body.length / 2)
  const headers = {
    authorization: `token ${token}`,
    'content-type': 'application/x-git-receive-pack-request',
    'content-length': body.length,
  }
  const req: ClientRequest = request(`${url}/git-receive-pack`, { method: 'POST', headers, agent: false })
  const answered = new Promise<IncomingMessage>((resolve) => req.once('response', resolve))
  const broken = new Promise<string>((resolve) => {
    // A connection may fail a second time, once it is closed here: nobody waits for that.
    req.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
  })
  await new Promise<void>((resolve) => req.write(body.subarray(0, half), () => resolve()))
  return {
    async finish() {
      req.end(body.subarray(half))
      const answer = await Promise.race([answered, broken])
      if (typeof answer === 'string') return { status: 0, text: answer }
      const chunks: Buffer[] = []
      for await (const chunk of answer) chunks.push(chunk as Buffer)
      return { status: answer.statusCode!, text: Buffer.concat(chunks).toString('latin1') }
    },
    vanish: () => void req.destroy(),
    broken,
  }
}
