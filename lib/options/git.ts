import { isIPv6 } from 'node:net'
import * as v from 'valibot'
import { DAY_MS, HOUR_MS } from '../clock.ts'
import { MAX_WORK_MS } from '../disk.ts'
import { count, milliseconds, nonEmptyText, Size } from './checks.ts'

const port = v.optional(count(65_535))
const MAX_CONNECTIONS = 1_000_000

/** The sections about git data. */
export const GitSections = v.strictObject({
  /** Git data on this disk; `false` when the host stores repositories itself. */
  repositories: v.optional(
    v.union([
      v.literal(false),
      v.strictObject({
        /** Folder of the bare repositories; `repositories` in the data folder when absent. */
        directory: v.optional(nonEmptyText('a folder')),
        /** Name or path of the `git` command. Default: `"git"`. */
        git: v.optional(nonEmptyText('a command'), 'git'),
      }),
    ]),
    {},
  ),
  /** Git over HTTP and its limits. */
  git: v.optional(
    v.strictObject({
      /** Whether clients clone, fetch and push over HTTP, at `clone_url`. Default: `true`. */
      http: v.optional(v.boolean(), true),
      /**
       * Maximum number of concurrent git requests. A request that waits longer than 1.5 seconds gets 503.
       * Default: `32`.
       */
      maxConcurrent: v.optional(count(10_000), 32),
      /**
       * Maximum number of concurrent git requests of one account or address; a quarter of `maxConcurrent`
       * when absent.
       */
      maxConcurrentPerClient: v.optional(count(10_000)),
      /**
       * Milliseconds without traffic in either direction after which a git request is ended. Default:
       * `60000`.
       */
      idleTimeout: milliseconds(DAY_MS, 60_000),
      /** Milliseconds after which a git request is ended in any case. Default: `3600000`. */
      timeout: milliseconds(MAX_WORK_MS, HOUR_MS),
      /**
       * Maximum size of a push, both as it is sent and unpacked (deltas count as deltas): bytes, or `"2
       * GiB"`; unlimited when absent.
       */
      maxPushSize: v.optional(v.pipe(Size, v.minValue(1))),
      /**
       * Maximum memory of each git process, where the system can limit it: bytes, or `"1 GiB"`. Repositories
       * with many million objects need more. Default: `1073741824`.
       */
      maxMemory: v.optional(v.pipe(Size, v.minValue(64 * 1024 * 1024)), 1024 * 1024 * 1024),
    }),
    {},
  ),
  /** Git over SSH, with the SSH keys of the accounts. The limits in `git` apply, too. */
  ssh: v.optional(
    v.strictObject({
      /** Port of SSH, which `allot serve` listens on and `ssh_url` names. Git over SSH is off when absent. */
      port: port,
      /** Port that `ssh_url` names, when clients reach the server by another one than it listens on. */
      publicPort: port,
      /** Host name in `ssh_url`; that of `baseUrl`, or of the request, when absent. */
      host: v.optional(
        v.pipe(
          v.string(),
          v.check(
            (text) => /^[\w.-]+$/.test(text) || isIPv6(text),
            'expected a host name or an address, without a port',
          ),
        ),
      ),
      /**
       * File with the private key of the server, without a passphrase. When absent, the first start makes an
       * Ed25519 and an ECDSA key in the folder `ssh` of the repositories.
       */
      hostKey: v.optional(nonEmptyText('a file')),
      /** Maximum number of open SSH connections. Further connections are closed. Default: `200`. */
      maxConnections: v.optional(count(MAX_CONNECTIONS), 200),
      /**
       * Maximum number of open SSH connections of one address (for IPv6: of one /64); a quarter of all when
       * absent.
       */
      maxConnectionsPerAddress: v.optional(count(MAX_CONNECTIONS)),
      /** Milliseconds within which an SSH client must have signed in. Default: `30000`. */
      loginTimeout: milliseconds(HOUR_MS, 30_000),
      /** Milliseconds after which an SSH connection without a running command is closed. Default: `60000`. */
      idleTimeout: milliseconds(DAY_MS, 60_000),
    }),
    {},
  ),
  /** Files, commits, branches and tags over the API; `false` turns it off. */
  contents: v.optional(
    v.union([
      v.literal(false),
      v.strictObject({
        /**
         * Maximum number of `git cat-file` processes that are kept open, of all repositories. Default: `16`.
         */
        processes: v.optional(count(1000), 16),
        /** Milliseconds after which such a process is ended when nothing is read. Default: `30000`. */
        idleTimeout: milliseconds(DAY_MS, 30_000),
        /**
         * Maximum number of concurrent git commands for lists of commits, comparisons and archives. Those
         * that go on after their response, such as the count of a long history, are at most half as many in
         * addition. Default: `8`.
         */
        maxConcurrent: v.optional(count(1000), 8),
        /** Milliseconds after which a read is ended with 503. Default: `30000`. */
        timeout: milliseconds(HOUR_MS, 30_000),
        /**
         * Maximum memory for git objects and for responses made of them, half each: bytes, or `"64 MiB"`.
         * Default: `67108864`.
         */
        cacheSize: v.optional(v.pipe(Size, v.minValue(1024 * 1024)), 64 * 1024 * 1024),
        /**
         * Maximum size of a file in a JSON response, and of a folder; larger files are downloads. Bytes, or
         * `"16 MiB"`. Default: `16777216`.
         */
        maxObjectSize: v.optional(v.pipe(Size, v.minValue(64 * 1024)), 16 * 1024 * 1024),
        /**
         * Maximum output of a git command that is made into a JSON response: bytes, or `"64 MiB"`. Default:
         * `67108864`.
         */
        maxOutputSize: v.optional(v.pipe(Size, v.minValue(1024 * 1024)), 64 * 1024 * 1024),
      }),
    ]),
    {},
  ),
  /** Git LFS; `false` turns it off. */
  lfs: v.optional(
    v.union([
      v.literal(false),
      v.strictObject({
        /** Maximum size of an LFS object: bytes, or `"2 GiB"`; unlimited when absent. */
        maxSize: v.optional(v.pipe(Size, v.minValue(1))),
      }),
    ]),
    {},
  ),
})
