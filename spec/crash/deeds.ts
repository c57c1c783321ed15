import type { Random } from './chance.ts'
import type { Known, Operation, OperationMaker } from './deed.ts'
import type { ClientModel } from './family.ts'
import { fileMakers } from './file-deeds.ts'
import { ledgerMakers } from './ledger-deeds.ts'
import { firstToken, peopleMakers } from './people-deeds.ts'
import { repositoryMakers } from './repository-deeds.ts'

const WEIGHTED = [...repositoryMakers, ...peopleMakers, ...ledgerMakers, ...fileMakers].flatMap(
  ({ weight, make }) => Array<OperationMaker>(weight).fill(make),
)

/** What a client writes next: anything that its family can do. */
export const nextOperation = (model: ClientModel, random: Random, known: Known): Operation => {
  const first = firstToken(model, known)
  if (first !== undefined) return first
  for (;;) {
    const deed = random.pick(WEIGHTED)!(model, random, known)
    if (deed !== undefined) return deed
  }
}
