import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { RequestListener } from 'node:http'
import type { Server } from 'node:https'
import { createSecureContext, type SecureContextOptions } from 'node:tls'
import { createLimitedServer, type ServerLimits } from '../../lib/server.ts'
import type { Config } from '../config/config.ts'
import { readFault, UsageError } from '../errors.ts'
import type { ServerLog } from './log.ts'

interface TlsFiles {
  certificate: string
  key: string
}

/** A certificate with its key, which have been checked: a server can use them. */
interface Tls {
  /** Certificate and key as node:tls takes them. */
  context: SecureContextOptions
  /** The server's own certificate, which is the first of its file. */
  certificate: X509Certificate
}

/**
 * @returns undefined when the server speaks HTTP
 * @throws UsageError when the options for https do not go together
 */
export const tlsFilesOf = ({
  tlsCertificate: certificate,
  tlsKey: key,
  ...others
}: Pick<Config['server'], 'tlsCertificate' | 'tlsKey' | 'redirectPort' | 'hsts'>): TlsFiles | undefined => {
  if (certificate !== undefined && key !== undefined) return { certificate, key }
  if (certificate !== undefined)
    throw new UsageError(
      `tls_certificate = "${certificate}": https also needs the private key of the certificate, in tls_key`,
    )
  if (key !== undefined)
    throw new UsageError(
      `tls_key = "${key}": https also needs the certificate of the key, in tls_certificate`,
    )
  if (others.redirectPort !== undefined || others.hsts)
    throw new UsageError(
      `${others.hsts ? 'hsts' : 'redirect_port'} needs https: set tls_certificate and tls_key`,
    )
  return undefined
}

/**
 * @throws Error with one sentence when a file cannot be read or used, or the key is of another certificate
 */
export const readTls = (files: TlsFiles): Tls => {
  const [cert, keyText] = [readText('tls_certificate', files.certificate), readText('tls_key', files.key)]
  const certificate = parseCertificate(files.certificate, cert)
  const key = parseKey(files.key, keyText)
  if (!certificate.checkPrivateKey(key))
    throw new Error(
      `tls_key = "${files.key}" is not the key of the first certificate in ${files.certificate}`,
    )
  const context = { cert, key: keyText }
  try {
    createSecureContext(context)
  } catch (error) {
    throw new Error(`tls_certificate = "${files.certificate}" cannot be used: ${(error as Error).message}`)
  }
  return { context, certificate }
}

const readText = (option: string, file: string): string => {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new Error(`${option} = "${file}" cannot be read: ${readFault(error)}`)
  }
}

const parseCertificate = (file: string, text: string): X509Certificate => {
  try {
    return new X509Certificate(text)
  } catch {
    throw new Error(`tls_certificate = "${file}" contains no certificate in PEM format`)
  }
}

const parseKey = (file: string, text: string): KeyObject => {
  try {
    return createPrivateKey(text)
  } catch {
    const fault = /ENCRYPTED/.test(text)
      ? 'is encrypted with a passphrase: write it without one, with openssl pkey'
      : 'contains no private key in PEM format'
    throw new Error(`tls_key = "${file}" ${fault}`)
  }
}

/** Why clients refuse the certificate at this time; undefined when its dates are right. */
export const dateFault = ({ validFrom, validTo }: X509Certificate, now = Date.now()): string | undefined => {
  if (Date.parse(validTo) <= now) return `the certificate has expired on ${dayOf(validTo)}: renew it`
  if (Date.parse(validFrom) > now)
    return `the certificate is not valid before ${dayOf(validFrom)}: is the clock of this machine right?`
  return undefined
}

/** @param date as certificates show it, such as `Nov 21 04:09:00 2026 GMT` */
export const dayOf = (date: string): string => new Date(date).toISOString().slice(0, 10)

/**
 * The certificate of a running server. SIGHUP makes it read the files again; open connections stay as they
 * are.
 */
export class ReloadedTls {
  readonly #files: TlsFiles
  readonly #log: ServerLog
  #current: Tls
  #onReload: (current: Tls) => void = () => undefined

  /**
   * Reads the files.
   * @throws Error as `readTls` does
   */
  constructor(files: TlsFiles, log: ServerLog) {
    this.#files = files
    this.#log = log
    this.#current = readTls(files)
    const fault = dateFault(this.#current.certificate)
    if (fault !== undefined) log.warn({}, `tls_certificate = "${files.certificate}": ${fault}`)
    process.on('SIGHUP', () => this.#reload())
  }

  /** Creates a server that always uses the current certificate for new connections. */
  createServer(listener: RequestListener, limits: ServerLimits): Server {
    const server = createLimitedServer(listener, { ...limits, tls: this.#current.context })
    this.onReload(({ context }) => server.setSecureContext(context))
    return server
  }

  /** Sets the function that is called with each new certificate. */
  onReload(listener: (current: Tls) => void): void {
    this.#onReload = listener
  }

  #reload(): void {
    const file = this.#files.certificate
    try {
      const tls = readTls(this.#files)
      const fault = dateFault(tls.certificate)
      if (fault !== undefined) throw new Error(`tls_certificate = "${file}": ${fault}`)
      this.#current = tls
      this.#onReload(tls)
      this.#log.info(
        {},
        `the certificate in ${file} is used from now on; it expires on ${dayOf(tls.certificate.validTo)}`,
      )
    } catch (error) {
      this.#log.error({}, `${(error as Error).message}; the server goes on with the certificate that it has`)
    }
  }
}
