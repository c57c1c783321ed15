import type { Client } from './client.ts'
import { clientModelOf, type Facts, factsOf } from './client-model.ts'

export interface CheckResult {
  /** Acknowledged writes that are missing or have another value. */
  lost: string[]
  /** Writes that are done in part. */
  inconsistent: string[]
}

/**
 * Checks what a client wrote against what the server has: every acknowledged write is there, and the
 * unanswered one is done wholly or not at all.
 */
export const check = (client: Client, observed: Facts): CheckResult => {
  const own = new Map([...observed].filter(([fact]) => clientModelOf(fact) === client.model.name))
  const { unanswered } = client
  const before = factsOf(client.model)
  const after = unanswered === undefined ? before : factsOf(unanswered.after)
  const lost: string[] = []
  const parts = new Map<string, 'missing' | 'done' | 'neither'>()
  for (const fact of new Set([...before.keys(), ...after.keys(), ...own.keys()])) {
    const [was, would, is] = [before.get(fact), after.get(fact), own.get(fact)]
    if (was !== would) parts.set(fact, is === was ? 'missing' : is === would ? 'done' : 'neither')
    else if (is !== was)
      lost.push(`${fact}: ${textOf(was)} was acknowledged, but the server has ${textOf(is)}`)
  }
  const states = new Set(parts.values())
  const isWhole = states.size === 0 || (states.size === 1 && !states.has('neither'))
  const inconsistent = isWhole ? [] : [`done in part: ${unanswered?.operation} ${JSON.stringify([...parts])}`]
  if (unanswered !== undefined && states.has('done')) client.model = unanswered.after
  client.unanswered = undefined
  return { lost, inconsistent }
}

const textOf = (value: string | undefined): string => value ?? 'nothing'
