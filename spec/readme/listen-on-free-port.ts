import { type AddressInfo, Server } from 'node:net'

/** Loaded before a snippet with `--import`: every server listens on a free port, and prints it. */
const { listen } = Server.prototype

Server.prototype.listen = function (this: Server, ...args: unknown[]): Server {
  this.once('listening', () => console.log(`listening on ${(this.address() as AddressInfo).port}`))
  const callback = args.at(-1)
  const options = { port: 0, host: '127.0.0.1' }
  return typeof callback === 'function'
    ? listen.call(this, options, callback as () => void)
    : listen.call(this, options)
} as Server['listen']
