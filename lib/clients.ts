import type { EventEmitter } from 'node:events'
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import ipaddr from 'ipaddr.js'

/**
 * What the outermost trusted proxy says of a request. Each proxy appends to these headers or sets them, so
 * only the last `proxies` entries were written by trusted proxies.
 * @param proxies number of reverse proxies in front of this server; 0 ignores the header
 * @returns an empty text when they say nothing
 */
export const forwardedOf = (
  { headers }: IncomingMessage,
  name: 'x-forwarded-for' | 'x-forwarded-proto' | 'x-forwarded-host',
  proxies: number,
): string =>
  proxies === 0
    ? ''
    : String(headers[name] ?? '')
        .split(',')
        .slice(-proxies)[0]!
        .trim()

/**
 * The address that a request came from.
 * @param proxies number of reverse proxies in front of this server
 */
export const addressOf = (req: IncomingMessage, proxies: number): string =>
  networkOf(forwardedOf(req, 'x-forwarded-for', proxies)) ?? addressOfSocket(req.socket)

/** The address of a connection; forwarded addresses are ignored. */
export const addressOfSocket = ({ remoteAddress }: Pick<Socket, 'remoteAddress'>): string =>
  networkOf(remoteAddress ?? '') ?? 'local'

/** Open sockets or responses by address; an address without any takes no memory. */
export class Counts {
  readonly #counts = new Map<string, number>()
  total = 0

  of(address: string): number {
    return this.#counts.get(address) ?? 0
  }

  addUntilClosed(address: string, counted: EventEmitter): void {
    this.#change(address, 1)
    counted.once('close', () => this.#change(address, -1))
  }

  #change(address: string, by: number): void {
    const count = this.of(address) + by
    this.total += by
    if (count === 0) this.#counts.delete(address)
    else this.#counts.set(address, count)
  }
}

/** Names of clients in budgets: every budget names an account, or an address, in the same way. */
export const clientOfAccount = (id: number): string => `user ${id}`
/** For senders that the host names itself, who need not have an id. */
export const clientOfName = (name: string): string => `name ${name}`
export const clientOfAddress = (address: string): string => `address ${address}`

/** The client whose budgets a request counts against: the signed-in account, or the address without one. */
export const clientOf = (
  req: IncomingMessage,
  user: { readonly id: number } | null,
  proxies: number,
): string => (user === null ? clientOfAddress(addressOf(req, proxies)) : clientOfAccount(user.id))

/** An IPv4 address, or the /64 network of an IPv6 address, since a client usually controls the whole /64. */
const networkOf = (text: string): string | undefined => {
  const bare = text.replace(/^\[(.*)\](?::\d+)?$|^([\d.]+):\d+$/, '$1$2')
  if (!ipaddr.isValid(bare)) return undefined
  const address = ipaddr.process(bare)
  if (address.kind() === 'ipv4') return address.toString()
  return `${(address as ipaddr.IPv6).parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(':')}::/64`
}
