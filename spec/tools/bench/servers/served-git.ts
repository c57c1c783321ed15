import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import type { RequestListener, ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { level } from '../../../../drivers/level/index.ts'
import { openAllot } from '../../../../lib/allot.ts'

type Listen = (listener: RequestListener, told: object) => void

/** Allot with an empty repository `bench/demo`. */
export const git = async (listen: Listen): Promise<void> => {
  const folder = mkdtempSync(join(tmpdir(), 'allot-bench-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  const directory = join(folder, 'repositories')
  const { handler, hosting } = await openAllot({
    driver: level(join(folder, 'store')),
    repositories: { directory },
  })
  const account = await hosting.accounts.createUser({ name: 'bench' })
  await hosting.repositories.create(account, account, { name: 'demo' })
  const { secret } = await hosting.tokens.create(account.id, 'bench', ['all'])
  listen(handler, { token: secret, directory })
}

/** The CGI program of git, without anything around it. */
export const httpBackend = (listen: Listen, directory: string): void =>
  listen((req, res) => {
    const [path, query = ''] = req.url!.split('?')
    const { PATH } = process.env
    const env = {
      ...{ PATH, GIT_PROJECT_ROOT: directory, GIT_HTTP_EXPORT_ALL: '1', REMOTE_ADDR: '127.0.0.1' },
      ...{ PATH_INFO: path, QUERY_STRING: query, REQUEST_METHOD: req.method },
      CONTENT_TYPE: req.headers['content-type'] ?? '',
      HTTP_CONTENT_ENCODING: req.headers['content-encoding'] ?? '',
      GIT_PROTOCOL: String(req.headers['git-protocol'] ?? ''),
    }
    const child = spawn('git', ['http-backend'], { env, stdio: ['pipe', 'pipe', 'inherit'] })
    req.pipe(child.stdin)
    passHeaders(child.stdout, res)
  }, {})

/** CGI: headers, an empty line, the body. */
const passHeaders = (output: Readable, res: ServerResponse): void => {
  let head = Buffer.alloc(0)
  const read = (chunk: Buffer) => {
    head = Buffer.concat([head, chunk])
    const end = head.indexOf('\r\n\r\n')
    if (end === -1) return
    output.off('data', read)
    for (const line of head.toString('latin1', 0, end).split('\r\n')) {
      const [, name, value] = /^([^:]+): (.*)$/.exec(line)!
      if (name === 'Status') res.statusCode = Number.parseInt(value!, 10)
      else res.setHeader(name!, value!)
    }
    res.write(head.subarray(end + 4))
    output.pipe(res)
  }
  output.on('data', read)
}
