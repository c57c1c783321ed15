import { AllotError } from '../../errors.ts'
import type { GitProcess } from '../../git/process.ts'
import type { StreamReply } from '../../http/index.ts'
import type { RepositoryContents } from '../../repositories/contents/open-repository.ts'
import type { Services } from '../route.ts'

/** Declare routes that read and that change the contents of a repository. */
export const read = { auth: 'optional', scope: 'read:repository', tag: 'repository' } as const
export const write = { auth: 'required', scope: 'write:repository', tag: 'repository' } as const

/** @throws AllotError not_found when the server has no git data; its routes are not served then */
export const contentsIn = ({ hosting }: Pick<Services, 'hosting'>): RepositoryContents => {
  if (hosting.contents === undefined) throw new AllotError('not_found', 'this server has no git data')
  return hosting.contents
}

/** A download of what a git process writes. It is cut off when git is stopped, so that the client notices. */
export const processReply = (child: GitProcess, headers: StreamReply['headers']): StreamReply => {
  child.stdin.end()
  const completed = child.ended.then(({ cause, code }) => {
    if (cause !== 'itself' || code !== 0) throw new Error(`git was stopped: ${code ?? cause}`)
  })
  return { status: 200, headers: { ...DOWNLOAD_HEADERS, ...headers }, body: child.stdout, completed }
}

const DOWNLOAD_HEADERS = {
  'Cache-Control': 'private, no-cache',
  'Content-Security-Policy': "default-src 'none'; sandbox",
  'X-Content-Type-Options': 'nosniff',
}
