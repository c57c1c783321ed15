import type { Client } from './client.ts'
import { clientModelOf, type Facts, factsOf } from './client-model.ts'

export interface CheckResult {
  /** Acknowledged writes that are not there, or whose value is another. */
  lost: string[]
  /** A write that is there in part. */
  inconsistent: string[]
}

/** What a client must find again: all that was acknowledged, and of one write more all or nothing. */
export const check = (client: Client, seen: Facts): CheckResult => {
  const own = new Map([...seen].filter(([fact]) => clientModelOf(fact) === client.model.name))
  const { unanswered } = client
  const before = factsOf(client.model)
  const after = unanswered === undefined ? before : factsOf(unanswered.after)
  const lost: string[] = []
  const parts = new Map<string, 'not there' | 'there' | 'neither'>()
  for (const fact of new Set([...before.keys(), ...after.keys(), ...own.keys()])) {
    const [was, would, is] = [before.get(fact), after.get(fact), own.get(fact)]
    if (was !== would) parts.set(fact, is === was ? 'not there' : is === would ? 'there' : 'neither')
    else if (is !== was) lost.push(`${fact}: ${textOf(was)} was acknowledged, and there is ${textOf(is)}`)
  }
  const states = new Set(parts.values())
  const isWhole = states.size === 0 || (states.size === 1 && !states.has('neither'))
  const inconsistent = isWhole ? [] : [`half done: ${unanswered?.operation} ${JSON.stringify([...parts])}`]
  if (unanswered !== undefined && states.has('there')) client.model = unanswered.after
  client.unanswered = undefined
  return { lost, inconsistent }
}

const textOf = (value: string | undefined): string => value ?? 'nothing'
