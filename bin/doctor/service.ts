import type { X509Certificate } from 'node:crypto'
import { request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { isIP } from 'node:net'
import { DAY_MS } from '../../lib/clock.ts'
import { requireUpgraded } from '../../lib/records/schema/index.ts'
import { StorageError } from '../../lib/storage/index.ts'
import { withoutEndSlashes } from '../client/api.ts'
import type { Config } from '../config/config.ts'
import { chosenDriver, driverFor, recordsFolder, type StoreLocation, storeExists } from '../config/store.ts'
import { inUrl } from '../server/listeners.ts'
import { dateFault, dayOf, readTls, tlsFilesOf } from '../server/tls.ts'
import { failed, type Outcome, ok, warning } from './finding.ts'

/** Opens a store that is not in a database. */
export const checkStore = async (location: StoreLocation): Promise<Outcome> => {
  const { title } = chosenDriver(location)
  const folder = recordsFolder(location)
  if (folder !== undefined && !storeExists(folder))
    return ok(`${folder} does not exist yet: allot serve creates it`)
  try {
    const driver = await driverFor(location)
    await driver.open()
    await driver.read(requireUpgraded).finally(() => driver.close())
    return ok(`${folder ?? title} can be opened`)
  } catch (error) {
    if (!(error instanceof StorageError) || error.reason !== 'locked') throw error
    return ok(error.message.replace(/: stop that process first$/, ''))
  }
}

export const checkCertificate = ({ server, api }: Config): Outcome[] => {
  const files = tlsFilesOf(server)
  if (files === undefined) return []
  const { certificate } = readTls(files)
  const fault = dateFault(certificate)
  if (fault !== undefined) return [failed(fault)]
  const host = api.baseUrl === undefined ? undefined : new URL(api.baseUrl).hostname
  if (host !== undefined && !covers(certificate, host))
    return [failed(`it is not for ${host}, the host of base_url`)]
  const [from, to] = [Date.parse(certificate.validFrom), Date.parse(certificate.validTo)]
  const expiry = `expires on ${dayOf(certificate.validTo)}`
  const isNearExpiry = to - Date.now() < Math.max((to - from) / 10, 3 * DAY_MS)
  return [isNearExpiry ? warning(`${expiry}: renew it`) : ok(expiry)]
}

const covers = (certificate: X509Certificate, host: string): boolean =>
  (isIP(host) === 0 ? certificate.checkHost(host) : certificate.checkIP(host)) !== undefined

export const checkAddresses = ({ server, api }: Config): Outcome => {
  const { baseUrl, trustedProxies } = api
  const speaksHttps = server.tlsCertificate !== undefined
  const isPublic = !/^(127\.|localhost$|::1$)/.test(server.host)
  if (speaksHttps && baseUrl?.startsWith('http:'))
    return warning(`base_url is ${baseUrl}, and the server speaks https: write https in it`)
  if (!speaksHttps && baseUrl?.startsWith('https:') && trustedProxies === 0)
    return warning(
      'base_url is https, so a proxy is in front, and all clients share its address: set trusted_proxies to the number of proxies',
    )
  if (trustedProxies > 0 && baseUrl === undefined)
    return warning('links are made from the headers that the proxy sends: set base_url to the public URL')
  if (!speaksHttps && isPublic && trustedProxies === 0)
    return warning(
      `${server.host} is reached by http, with passwords in the clear: set tls_certificate, or put a proxy in front`,
    )
  return ok(`trusted_proxies = ${trustedProxies}, base_url = ${baseUrl ?? 'from the headers of a request'}`)
}

const HEALTH_TIMEOUT_MS = 5000

/** Asks the health check of the server that runs with this configuration. */
export const checkServer = async ({ server, api }: Config, url?: string): Promise<Outcome> => {
  const scheme = server.tlsCertificate === undefined ? 'http' : 'https'
  const base =
    url === undefined
      ? `${scheme}://${inUrl(server.host)}:${server.port}`
      : withoutEnd(withoutEndSlashes(url), api.basePath)
  try {
    const status = await statusOf(`${base}/-/readyz`, url === undefined)
    if (status === 200) return ok(`${base} answers`)
    const advice =
      status === 404
        ? 'only `allot serve` has it, not a server that embeds Allot'
        : 'see the log of the server'
    return failed(`${base}/-/readyz answered ${status}: ${advice}`)
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    const isStopped = code === 'ECONNREFUSED' && url === undefined
    return isStopped
      ? ok(`no server runs at ${base}`)
      : failed(`${base} cannot be reached: ${message || code}`)
  }
}

const withoutEnd = (text: string, end: string): string =>
  text.endsWith(end) ? text.slice(0, -end.length) : text

/** @param isOwn this machine's own server, whose certificate is for another name than the address */
const statusOf = (url: string, isOwn: boolean): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    const options = { agent: false, timeout: HEALTH_TIMEOUT_MS }
    const sent = url.startsWith('https:')
      ? requestHttps(url, { ...options, rejectUnauthorized: !isOwn })
      : requestHttp(url, options)
    sent
      .on('response', (res) => resolve(res.resume().statusCode))
      .on('timeout', () => sent.destroy(new Error(`no answer within ${HEALTH_TIMEOUT_MS} ms`)))
      .on('error', reject)
      .end()
  })
