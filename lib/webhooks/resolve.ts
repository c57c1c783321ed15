/**
 * Resolves the names of receivers, which users choose. `dns.lookup` holds one of the few threads of the
 * process until the name server answers, so a few names whose server is silent would stop all webhooks.
 */
import dns, { type LookupAddress } from 'node:dns'
import { Resolver } from 'node:dns/promises'
import { readFile } from 'node:fs/promises'
import { isIP } from 'node:net'

/** Milliseconds of the first attempt of a query; the second one has twice as many. */
const QUERY = { timeout: 2000, tries: 2 }

/** RFC 6761 §6.3: also where the hosts file does not have it. */
const LOCALHOST = '127.0.0.1 localhost\n::1 localhost'

/**
 * The addresses of a name in `/etc/hosts`, or of the name servers of the process.
 * @throws Error when it has none
 */
export const resolveName = async (name: string): Promise<LookupAddress[]> => {
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
