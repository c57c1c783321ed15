import dns, { type LookupAddress } from 'node:dns'
import { lookup as lookupHost, Resolver } from 'node:dns/promises'
import { readFile } from 'node:fs/promises'
import { isIP, type LookupFunction } from 'node:net'
import ipaddr from 'ipaddr.js'
import { AllotError } from '../errors.ts'
import { matchesPattern } from './patterns.ts'

/**
 * Which addresses receivers may have. Webhooks are made by users, so without a check they could send requests
 * into the network of the server. Invariant: the address that is checked is the one connected to, so a name
 * that resolves differently the second time gains nothing.
 */
export class AllowedAddresses {
  readonly #networks: [ipaddr.IPv4 | ipaddr.IPv6, number][] = []
  readonly #names: string[] = []

  /**
   * @param allowed addresses, networks such as `10.0.0.0/8`, and names such as `ci.internal` and
   * `*.corp.example`
   */
  constructor(allowed: readonly string[]) {
    for (const text of allowed) {
      const network = networkIn(text)
      if (network === undefined) this.#names.push(text.toLowerCase())
      else this.#networks.push(network)
    }
  }

  /**
   * @param host name or address of the receiver, as URL.hostname has it
   * @param address that the name resolves to
   */
  permits(host: string, address: string): boolean {
    if (this.#names.some((pattern) => matchesPattern(pattern, host.toLowerCase()))) return true
    if (!ipaddr.isValid(address)) return false
    const parsed = ipaddr.process(address)
    if (isPublic(parsed)) return true
    return this.#networks.some(
      ([network, bits]) => network.kind() === parsed.kind() && parsed.match(network as never, bits),
    )
  }

  /**
   * @throws AllotError forbidden when the host is an address that is not permitted; names are checked when
   * they are resolved
   */
  checkHost(host: string): void {
    const address = addressIn(host)
    if (address !== undefined && !this.permits(host, address))
      throw refused(`the address ${address} is not public`)
  }

  /** Resolves names for node:net, to permitted addresses only. */
  readonly lookup: LookupFunction = (host, options, callback) => {
    this.#permittedFor(host).then(
      (found) =>
        options.all === true ? callback(null, found) : callback(null, found[0]!.address, found[0]!.family),
      (error) => callback(error, ''),
    )
  }

  async #permittedFor(host: string): Promise<LookupAddress[]> {
    // A name that the operator has listed may be one that only the system knows, by its search domains.
    const isListed = this.#names.includes(host.toLowerCase())
    const found = await (isListed ? lookupHost(host, { all: true }) : resolveName(host)).catch(() => [])
    const permitted = found.filter(({ address }) => this.permits(host, address))
    if (permitted.length > 0) return permitted
    // The owner of the webhook reads this error, which must not tell which names the server's network has.
    throw refused(`${host} does not exist, or its address is not allowed`)
  }
}

/**
 * All public IPv6 addresses (RFC 4291 §2.4). Outside, ipaddr.js calls also `::127.0.0.1` unicast, which can
 * lead to IPv4.
 */
const PUBLIC_IPV6 = ipaddr.IPv6.parseCIDR('2000::/3')

const isPublic = (address: ipaddr.IPv4 | ipaddr.IPv6): boolean =>
  address.range() === 'unicast' && (address instanceof ipaddr.IPv4 || address.match(PUBLIC_IPV6))

const networkIn = (text: string): [ipaddr.IPv4 | ipaddr.IPv6, number] | undefined => {
  if (ipaddr.isValidCIDR(text)) return ipaddr.parseCIDR(text)
  if (isIP(text) === 0) return undefined
  const address = ipaddr.parse(text)
  return [address, address.kind() === 'ipv4' ? 32 : 128]
}

/** Whether a text of `allowed` can permit a receiver: an address, a network or a pattern of host names. */
export const mayBeReceiver = (text: string): boolean =>
  addressIn(text) !== undefined || networkIn(text) !== undefined || /^[\w.*?{},-]+$/.test(text)

/** The address in a URL.hostname; undefined for a name. */
const addressIn = (host: string): string | undefined => {
  const bare = host.replace(/^\[(.*)\]$/, '$1')
  return isIP(bare) === 0 ? undefined : bare
}

const refused = (reason: string) =>
  new AllotError(
    'forbidden',
    `${reason}: an administrator can allow it with the option webhooks.allowedHosts`,
  )

/** Milliseconds of the first attempt of a query; the second one has twice as many. */
const QUERY = { timeout: 2000, tries: 2 }

/** RFC 6761 §6.3: also where the hosts file does not have it. */
const LOCALHOST = '127.0.0.1 localhost\n::1 localhost'

/**
 * The addresses of a name in `/etc/hosts`, or of the name servers of the process. Users choose the names of
 * receivers, and `dns.lookup` holds one of the few threads of the process until the name server answers, so a
 * few names whose server is silent would stop all webhooks.
 * @throws Error when it has none
 */
const resolveName = async (name: string): Promise<LookupAddress[]> => {
  const hosts = await readFile('/etc/hosts', 'utf8').catch(() => '')
  const listed = [hosts, LOCALHOST].map((text) => addressesIn(text, name)).find(({ length }) => length > 0)
  if (listed !== undefined) return listed.map(withFamily)
  const resolver = new Resolver(QUERY)
  // A named import would have the servers of before a `dns.setServers`.
  resolver.setServers(dns.getServers())
  const found = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)])
  const addresses = found.flatMap((one) => (one.status === 'fulfilled' ? one.value : []))
  if (addresses.length === 0) throw new Error(`${name} has no address`)
  return addresses.map(withFamily)
}

const addressesIn = (hosts: string, name: string): string[] => {
  const wanted = name.toLowerCase().replace(/\.$/, '')
  const lines = hosts.split('\n').map((line) => line.replace(/#.*/, '').trim().split(/\s+/))
  return lines
    .filter(
      ([address = '', ...names]) => isIP(address) !== 0 && names.some((one) => one.toLowerCase() === wanted),
    )
    .map(([address]) => address!)
}

const withFamily = (address: string): LookupAddress => ({ address, family: isIP(address) })
