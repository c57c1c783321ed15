import type { Chance } from './chance.ts'
import type { Deed, Known, Maker } from './deed.ts'
import type { Family } from './family.ts'
import { fileMakers } from './file-deeds.ts'
import { ledgerMakers } from './ledger-deeds.ts'
import { firstToken, peopleMakers } from './people-deeds.ts'
import { repositoryMakers } from './repository-deeds.ts'

const WEIGHTED = [...repositoryMakers, ...peopleMakers, ...ledgerMakers, ...fileMakers].flatMap(
  ({ weight, make }) => Array<Maker>(weight).fill(make),
)

/** What a client writes next: anything that its family can do. */
export const nextDeed = (family: Family, chance: Chance, known: Known): Deed => {
  const first = firstToken(family, known)
  if (first !== undefined) return first
  for (;;) {
    const deed = chance.pick(WEIGHTED)!(family, chance, known)
    if (deed !== undefined) return deed
  }
}
