import * as v from 'valibot'
import { DAY_MS, HOUR_MS } from '../clock.ts'
import { MAX_WORK_MS } from '../disk.ts'
import { count, described, milliseconds, Size } from './checks.ts'

/** The option `git`. */
export const GitOptions = v.strictObject({
  http: described(
    v.optional(v.boolean(), true),
    'Whether clients clone, fetch and push over HTTP, at `clone_url`.',
  ),
  maxConcurrent: described(
    v.optional(count(10_000), 32),
    'Maximum number of concurrent git requests. A request that waits longer than 1.5 seconds gets 503.',
  ),
  maxConcurrentPerClient: described(
    v.optional(count(10_000)),
    'Maximum number of concurrent git requests of one account or address; a quarter of `maxConcurrent` when absent.',
  ),
  idleTimeout: described(
    milliseconds(DAY_MS, 60_000),
    'Milliseconds without traffic in either direction after which a git request is ended.',
  ),
  timeout: described(
    milliseconds(MAX_WORK_MS, HOUR_MS),
    'Milliseconds after which a git request is ended in any case.',
  ),
  maxPushSize: described(
    v.optional(v.pipe(Size, v.minValue(1))),
    'Maximum size of a push, both as it is sent and unpacked (deltas count as deltas): bytes, or `"2 GiB"`; unlimited when absent.',
  ),
  maxMemory: described(
    v.optional(v.pipe(Size, v.minValue(64 * 1024 * 1024)), 1024 * 1024 * 1024),
    'Maximum memory of each git process, where the system can limit it: bytes, or `"1 GiB"`. Repositories with many million objects need more.',
  ),
})

/** The option `contents`. */
export const ContentsOptions = v.strictObject({
  processes: described(
    v.optional(count(1000), 16),
    'Maximum number of `git cat-file` processes that are kept open, of all repositories.',
  ),
  idleTimeout: described(
    milliseconds(DAY_MS, 30_000),
    'Milliseconds after which such a process is ended when nothing is read.',
  ),
  maxConcurrent: described(
    v.optional(count(1000), 8),
    'Maximum number of concurrent git commands for lists of commits, comparisons and archives. Those that go on after their response, such as the count of a long history, are at most half as many in addition.',
  ),
  timeout: described(milliseconds(HOUR_MS, 30_000), 'Milliseconds after which a read is ended with 503.'),
  cacheSize: described(
    v.optional(v.pipe(Size, v.minValue(1024 * 1024)), 64 * 1024 * 1024),
    'Maximum memory for git objects and for responses made of them, half each: bytes, or `"64 MiB"`.',
  ),
  maxObjectSize: described(
    v.optional(v.pipe(Size, v.minValue(64 * 1024)), 16 * 1024 * 1024),
    'Maximum size of a file in a JSON response, and of a folder; larger files are downloads. Bytes, or `"16 MiB"`.',
  ),
  maxOutputSize: described(
    v.optional(v.pipe(Size, v.minValue(1024 * 1024)), 64 * 1024 * 1024),
    'Maximum output of a git command that is made into a JSON response: bytes, or `"64 MiB"`.',
  ),
})
