import { readFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { connect } from 'node:net'
import { setPriority } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import type { AttackPlan, AttackRequest } from './attacks.ts'

/*
 * The process of the attacker: sends requests to a server from its own address until it is stopped. An
 * attacker on another machine would take no CPU time from the server, so this process has the lowest
 * priority.
 */
setPriority(19)
const { base, weapon, localAddress } = JSON.parse(readFileSync(process.argv[2]!, 'utf8')) as {
  base: string
  weapon: AttackPlan
  localAddress: string
}
const { hostname: host, port } = new URL(base)
const agent = new Agent({ keepAlive: true, maxSockets: weapon.connections, localAddress })

/** Responses by status, and failed requests by error code. */
const counts: Record<string, number> = {}
const count = (outcome: string | number | undefined) => {
  counts[String(outcome)] = (counts[String(outcome)] ?? 0) + 1
}

const sendRequest = ({ method, path, body, headers = {} }: AttackRequest, round: number): Promise<void> =>
  new Promise((resolve) => {
    const req = request({ host, port, agent, localAddress, method, path, headers }, (res) => {
      res.resume().once('close', () => {
        count(res.statusCode)
        resolve()
      })
    })
    req.once('error', (error: NodeJS.ErrnoException) => {
      count(error.code)
      resolve()
    })
    req.end(body?.replaceAll('#', String(round)))
  })

let sent = 0
const sendForever = async (shots: AttackRequest[]): Promise<void> => {
  for (;;) {
    const number = sent++
    await sendRequest(shots[number % shots.length]!, Math.floor(number / weapon.connections))
    // Limits the rate when the server refuses at once.
    await sleep(5)
  }
}

/** Keeps a connection open, and opens another whenever the server closes it. */
const holdConnections = async (bytes: string): Promise<void> => {
  for (;;) {
    await new Promise<void>((resolve) => {
      const socket = connect({ host, port: Number(port), localAddress }, () => socket.write(bytes))
      socket.once('error', () => undefined).once('close', () => resolve())
      socket.resume()
    })
    count('ended')
    await sleep(50)
  }
}

const { requests, heldRequest } = weapon
for (let index = 0; index < weapon.connections; index++)
  void (heldRequest === undefined ? sendForever(requests ?? []) : holdConnections(heldRequest))

process.once('SIGTERM', () => {
  process.stdout.write(`${JSON.stringify(counts)}\n`, () => process.exit())
})
// Keeps the process alive when the attack has no connections.
setInterval(() => undefined, 60_000)
process.stdout.write('ready\n')
