import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import type { SshServer } from '../ssh/types.ts'

/** Buckets of the histogram of commands, in seconds. */
const COMMAND_BUCKETS = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60, 600]

/** Measures git over SSH from now on. */
export const measureSsh = (registry: Registry, server: SshServer): void => {
  const registers = [registry]
  const durations = new Histogram({
    name: 'allot_ssh_command_duration_seconds',
    help: 'Seconds that commands over SSH take, by command and exit code; the count is the number of commands.',
    labelNames: ['command', 'exit'],
    registers,
    buckets: COMMAND_BUCKETS,
  })
  const bytes = new Counter({
    name: 'allot_ssh_bytes_total',
    help: 'Bytes that commands over SSH have received and sent, without those of SSH itself.',
    labelNames: ['direction'],
    registers,
  })
  new Gauge({
    name: 'allot_ssh_connections',
    help: 'Open connections of SSH.',
    registers,
    collect() {
      this.set(server.connections)
    },
  })
  server.observe(({ command, exitCode, ms, bytesReceived, bytesSent }) => {
    durations.observe({ command, exit: String(exitCode) }, ms / 1000)
    bytes.inc({ direction: 'received' }, bytesReceived)
    bytes.inc({ direction: 'sent' }, bytesSent)
  })
}
