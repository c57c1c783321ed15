import { type AddressInfo, type ListenOptions, Server } from 'node:net'

/**
 * Loaded before a snippet with `--import`: every server listens on a free port, and prints it. A server that
 * would listen on all addresses fails, since new users run the snippets, with tokens that they print.
 */
const { listen } = Server.prototype

Server.prototype.listen = function (this: Server, ...args: unknown[]): Server {
  const host = typeof args[0] === 'object' ? (args[0] as ListenOptions).host : args[1]
  if (host !== '127.0.0.1') throw new Error(`the snippet must listen on 127.0.0.1, not on ${host}`)
  this.once('listening', () => console.log(`listening on ${(this.address() as AddressInfo).port}`))
  const callback = args.at(-1)
  const options = { port: 0, host }
  return typeof callback === 'function'
    ? listen.call(this, options, callback as () => void)
    : listen.call(this, options)
} as Server['listen']
