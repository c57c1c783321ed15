import { accountMakers, firstToken } from './account-operations.ts'
import type { ClientModel } from './client-model.ts'
import { fileMakers } from './file-operations.ts'
import { ledgerMakers } from './ledger-operations.ts'
import type { ClientState, Operation, OperationMaker } from './operation.ts'
import type { Random } from './random.ts'
import { repositoryMakers } from './repository-operations.ts'

const WEIGHTED = [...repositoryMakers, ...accountMakers, ...ledgerMakers, ...fileMakers].flatMap(
  ({ weight, make }) => Array<OperationMaker>(weight).fill(make),
)

/** Picks the next write of a client at random. */
export const nextOperation = (model: ClientModel, random: Random, known: ClientState): Operation => {
  const first = firstToken(model, known)
  if (first !== undefined) return first
  for (;;) {
    const operation = random.pick(WEIGHTED)!(model, random, known)
    if (operation !== undefined) return operation
  }
}
