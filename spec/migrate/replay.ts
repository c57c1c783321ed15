import { readFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { listen } from '../support/listen.ts'
import type { TestServer } from '../support/test-server.ts'

/**
 * Responses of a real Forgejo to an administrator, by the path below its API, and the recording that each
 * comes from.
 */
interface Recorded {
  recorded: string
  body: unknown
  /** The total that came with a list; absent for a list that is not paged. */
  total?: number
}

const FORGEJO = JSON.parse(readFileSync(new URL('forgejo.json', import.meta.url), 'utf8')) as Record<
  string,
  Recorded
>

export interface Reply {
  status?: number
  body: unknown
  total?: number
}

export interface Replay {
  base: string
  /** Paths that were asked for, in whose name. */
  readonly asked: { path: string; sudo: string | undefined; authorization: string | undefined }[]
  stop(): Promise<void>
}

/**
 * Answers from the table, by the path or by the path with its query, and passes other requests on to another
 * server: above all git data.
 */
export const replay = async (
  table: Readonly<Record<string, Reply>>,
  rest: (req: IncomingMessage, res: ServerResponse) => void,
): Promise<Replay> => {
  const asked: Replay['asked'] = []
  const { origin, stop } = await listen((req, res) => {
    const { pathname, searchParams } = new URL(req.url!, 'http://localhost')
    const path = pathname.replace('/api/v1', '')
    const { sudo, authorization } = req.headers
    asked.push({ path, sudo: sudo as string | undefined, authorization })
    const reply = table[req.url!.replace('/api/v1', '')] ?? table[path]
    if (reply === undefined) return rest(req, res)
    const isPast = reply.total !== undefined && Number(searchParams.get('page') ?? 1) > 1
    const body = typeof reply.body === 'string' ? reply.body : `${JSON.stringify(isPast ? [] : reply.body)}\n`
    res.writeHead(reply.status ?? 200, {
      'content-type': 'application/json;charset=utf-8',
      ...(reply.total === undefined ? {} : { 'x-total-count': reply.total }),
    })
    res.end(body)
  })
  return { base: origin, asked, stop }
}

/** The recorded Forgejo, with git data from a started server that has the same names. */
export const forgejo = (behind: TestServer, more: Readonly<Record<string, Reply>> = {}): Promise<Replay> =>
  replay({ ...FORGEJO, ...more }, behind.allot.handler)

export const recorded = (path: string): Reply => FORGEJO[path]!
