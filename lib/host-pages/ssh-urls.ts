import * as v from 'valibot'
import { CacheConstant } from '../caches.ts'

const number = (limit: number) => v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(limit))
const port = v.optional(number(65_535))
const HOUR = 60 * 60 * 1000
const MAX_CONNECTIONS = 1_000_000

/** The option `ssh`. */
export const SshOptions = v.strictObject({
  port: v.pipe(
    port,
    v.description(
      'Port of SSH, which `allot serve` listens on and `ssh_url` names. Git over SSH is off when absent.',
    ),
  ),
  publicPort: v.pipe(
    port,
    v.description(
      'Port that `ssh_url` names, when clients reach the server by another one than it listens on.',
    ),
  ),
  host: v.pipe(
    v.optional(v.pipe(v.string(), v.regex(/^[\w.:-]+$/, 'expected a host name'))),
    v.description('Host name in `ssh_url`; that of `baseUrl`, or of the request, when absent.'),
  ),
  hostKey: v.pipe(
    v.optional(v.string()),
    v.description(
      'File with the private key of the server, without a passphrase. When absent, the first start makes an Ed25519 and an ECDSA key in the folder `ssh` of the repositories.',
    ),
  ),
  maxConnections: v.pipe(
    v.optional(number(MAX_CONNECTIONS), 200),
    v.description('Maximum number of open SSH connections. Further connections are closed.'),
  ),
  maxConnectionsPerAddress: v.pipe(
    v.optional(number(MAX_CONNECTIONS)),
    v.description(
      'Maximum number of open SSH connections of one address (for IPv6: of one /64); a quarter of all when absent.',
    ),
  ),
  loginTimeout: v.pipe(
    v.optional(number(HOUR), 30_000),
    v.description('Milliseconds within which an SSH client must have signed in.'),
  ),
  idleTimeout: v.pipe(
    v.optional(number(24 * HOUR), 60_000),
    v.description('Milliseconds after which an SSH connection without a running command is closed.'),
  ),
})

/** Where clients reach git over SSH. */
type SshAddress = Pick<v.InferOutput<typeof SshOptions>, 'host' | 'port' | 'publicPort'>

const DEFAULT_PORT = 22

/** The `ssh_url` of repositories: the short form where the port is that of SSH, as on Gitea and Forgejo. */
export class SshUrls extends CacheConstant {
  readonly #address: SshAddress

  constructor(address: SshAddress) {
    super()
    this.#address = address
  }

  /**
   * @param path `owner/name`
   * @param hostName of the service, for an address without one
   * @returns an empty text while SSH is off
   */
  of(path: string, hostName: string): string {
    const { host = hostName, port, publicPort: reached = port } = this.#address
    if (port === undefined) return ''
    // The host name of a URL has brackets around an IPv6 address, an option may have none.
    const name = host.includes(':') && !host.startsWith('[') ? `[${host}]` : host
    if (reached === DEFAULT_PORT) return `git@${name}:${path}.git`
    return `ssh://git@${name}:${reached}/${path}.git`
  }
}
