import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import ipaddr from 'ipaddr.js'

/**
 * Where a request comes from, as far as that can be believed: every proxy appends the address that it was called from
 * to X-Forwarded-For, so only the last `proxies` of them were written by somebody who is trusted.
 * @param proxies how many reverse proxies stand in front of this server; 0 believes nothing but the socket.
 */
export const addressOf = (req: IncomingMessage, proxies: number): string => {
  const own = addressOfSocket(req.socket)
  if (proxies === 0) return own
  const forwarded = String(req.headers['x-forwarded-for'] ?? '').split(',')
  return networkOf(forwarded.slice(-proxies)[0]!.trim()) ?? own
}

/** The same for a connection, where no proxy is believed. */
export const addressOfSocket = ({ remoteAddress }: Pick<Socket, 'remoteAddress'>): string =>
  networkOf(remoteAddress ?? '') ?? 'local'

/** Names of clients, by which budgets are shared: one account, or one address, has one name in every budget. */
export const clientOfAccount = (id: number): string => `user ${id}`
export const clientOfAddress = (address: string): string => `address ${address}`

/** The client whose budgets a request counts against: the account that is signed in, else the address. */
export const clientOf = (
  req: IncomingMessage,
  user: { readonly id: number } | null,
  proxies: number,
): string => (user === null ? clientOfAddress(addressOf(req, proxies)) : clientOfAccount(user.id))

/** An IPv4 address, or the /64 of an IPv6 one: whoever has one address there has all 2^64 of them. */
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
