import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { type RequestOptions, request } from 'node:https'
import { join } from 'node:path'
import type { TLSSocket } from 'node:tls'
import { Authority, type Issued } from '../support/certificates.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { waitFor } from '../support/wait-for.ts'

/** Issues the certificates of the servers. */
export const authority = new Authority()

interface Got {
  status: number
  headers: IncomingMessage['headers']
  text: string
  /** Serial number of the certificate that the server has shown. */
  serial: string
}

/** Sends a request whose certificate must be of the authority. */
export const send = async (
  url: string | URL,
  { body = '', ...options }: RequestOptions & { body?: string } = {},
) => {
  const sent = request(url, { ca: authority.pem, agent: false, ...options })
  sent.end(body)
  const [res] = (await once(sent, 'response')) as [IncomingMessage]
  const { serialNumber } = (res.socket as TLSSocket).getPeerCertificate()
  let text = ''
  for await (const chunk of res) text += chunk
  return { status: res.statusCode!, headers: res.headers, text, serial: serialNumber } satisfies Got
}

/** Serial number of a certificate. */
export const serialOf = ({ certificate }: Issued): string =>
  new X509Certificate(readFileSync(certificate)).serialNumber

/** What both kinds of servers have. */
interface Server {
  api: string
  printed(): string
}

export type ServedHttps<S extends Server> = S & {
  origin: string
  files: Issued
  token: string
  /** Replaces the files. */
  replace(issued: Issued): void
}

interface HttpsOptions {
  issued?: Issued
  /** Further options of the command line. */
  more?: readonly string[]
}

/**
 * Starts a server with a copy of a certificate, which can be replaced.
 * @param start `served` of `in-process.ts`, or that of `program.ts`
 */
export const serveHttps = async <S extends Server>(
  start: (args: readonly string[]) => Promise<S>,
  { issued = authority.issue(), more = [] }: HttpsOptions = {},
): Promise<ServedHttps<S>> => {
  const data = temporaryDirectory()
  const files = { certificate: join(data, 'cert.pem'), key: join(data, 'key.pem') }
  const replace = ({ certificate, key }: Issued) => {
    copyFileSync(certificate, files.certificate)
    copyFileSync(key, files.key)
  }
  replace(issued)
  const tls = ['--tls-certificate', files.certificate, '--tls-key', files.key]
  const server = await start(['--data', join(data, 'data'), ...tls, ...more])
  await waitFor(() => /^ {2}[0-9a-f]{40}$/m.test(server.printed()))
  const [, token] = /^ {2}([0-9a-f]{40})$/m.exec(server.printed())!
  return { ...server, origin: new URL(server.api).origin, files, token: token!, replace }
}

/**
 * Writes a configuration file.
 * @returns the options that name it
 */
export const configured = (text: string): string[] => {
  const file = join(temporaryDirectory(), 'allot.toml')
  writeFileSync(file, text)
  return ['--config', file]
}
