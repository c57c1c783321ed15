import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { missing as noPostgres, unprivileged } from '../../postgres/cluster.ts'

/** Patroni of PATH, or of the virtual environment in ALLOT_SPEC_PATRONI. */
const environment = process.env.ALLOT_SPEC_PATRONI
export const PATRONI = environment === undefined ? 'patroni' : join(environment, 'bin', 'patroni')

/** Whether the user that runs the programs can run this one. */
const canRun = (program: string, ...args: string[]): boolean =>
  spawnSync(program, args, { cwd: '/', ...unprivileged() }).status === 0

/** Sentences that name the programs that a run needs and this machine does not have. */
export const missingPrograms = (): string[] => {
  const sentences: string[] = []
  if (noPostgres !== false) sentences.push(noPostgres)
  if (!canRun('etcd', '--version')) sentences.push('etcd is not installed: apt-get install etcd-server')
  if (!canRun('haproxy', '-v')) sentences.push('HAProxy is not installed: apt-get install haproxy')
  if (!canRun('pgbouncer', '--version'))
    sentences.push('PgBouncer is not installed: apt-get install pgbouncer')
  if (!canRun(PATRONI, '--version'))
    sentences.push(
      "Patroni is not installed, or not for every user: /usr/bin/python3 -m venv F && F/bin/pip install 'patroni[etcd3]' psycopg2-binary, then ALLOT_SPEC_PATRONI=F",
    )
  if (!existsSync('/proc/self/stat'))
    sentences.push('processes are frozen as /proc lists them, which this system does not have')
  return sentences
}

const TABLE = 'allot_faults'
const nft = (...words: string[]): boolean => spawnSync('nft', words).status === 0

/** Why packets cannot be dropped here; false when they can. */
export const cannotDropPackets = (): string | false => {
  const can = nft('add', 'table', 'inet', TABLE)
  nft('delete', 'table', 'inet', TABLE)
  return can
    ? false
    : 'packets cannot be dropped: nft is not installed, or this user may not change its rules'
}

/** Drops every packet from and to these TCP ports until the returned function is called. */
export const dropPackets = (ports: readonly number[]): (() => void) => {
  const set = `{ ${ports.join(', ')} }`
  nft('add', 'table', 'inet', TABLE)
  nft('add', 'chain', 'inet', TABLE, 'input', '{ type filter hook input priority 0; }')
  nft('add', 'rule', 'inet', TABLE, 'input', 'tcp', 'dport', set, 'drop')
  nft('add', 'rule', 'inet', TABLE, 'input', 'tcp', 'sport', set, 'drop')
  return () => void nft('delete', 'table', 'inet', TABLE)
}
