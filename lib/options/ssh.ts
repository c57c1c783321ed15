import * as v from 'valibot'
import { DAY_MS, HOUR_MS } from '../clock.ts'
import { count, described, milliseconds, nonEmptyText } from './checks.ts'

const port = v.optional(count(65_535))
const MAX_CONNECTIONS = 1_000_000

/** The option `ssh`. */
export const SshOptions = v.strictObject({
  port: described(
    port,
    'Port of SSH, which `allot serve` listens on and `ssh_url` names. Git over SSH is off when absent.',
  ),
  publicPort: described(
    port,
    'Port that `ssh_url` names, when clients reach the server by another one than it listens on.',
  ),
  host: described(
    v.optional(v.pipe(v.string(), v.regex(/^[\w.:-]+$/, 'expected a host name'))),
    'Host name in `ssh_url`; that of `baseUrl`, or of the request, when absent.',
  ),
  hostKey: described(
    v.optional(nonEmptyText('a file')),
    'File with the private key of the server, without a passphrase. When absent, the first start makes an Ed25519 and an ECDSA key in the folder `ssh` of the repositories.',
  ),
  maxConnections: described(
    v.optional(count(MAX_CONNECTIONS), 200),
    'Maximum number of open SSH connections. Further connections are closed.',
  ),
  maxConnectionsPerAddress: described(
    v.optional(count(MAX_CONNECTIONS)),
    'Maximum number of open SSH connections of one address (for IPv6: of one /64); a quarter of all when absent.',
  ),
  loginTimeout: described(
    milliseconds(HOUR_MS, 30_000),
    'Milliseconds within which an SSH client must have signed in.',
  ),
  idleTimeout: described(
    milliseconds(DAY_MS, 60_000),
    'Milliseconds after which an SSH connection without a running command is closed.',
  ),
})
