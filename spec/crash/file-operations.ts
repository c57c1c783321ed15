import type { PackageFile } from './client-model.ts'
import type { OperationMaker } from './operation.ts'

/** Uses few names, so that many uploads follow a deletion of the same package. */
const upload: OperationMaker = (model, random, known) => {
  const owner = random.pick([...model.people.keys(), model.organization])!
  const name = `${model.name}-p${random.below(4)}`
  if (model.packageFiles.has(`${owner}/${name}`)) return undefined
  const content = `${known.next()} `.repeat(1 + random.below(3000))
  const kept: PackageFile = { owner, name, content }
  return {
    method: 'PUT',
    path: filePath(kept),
    body: content,
    headers: { 'content-type': 'application/octet-stream' },
    change: (after) => void after.packageFiles.set(`${owner}/${name}`, kept),
  }
}

/** An existing file cannot be overwritten. */
const uploadAgain: OperationMaker = (model, random) => {
  const kept = random.pick([...model.packageFiles.values()])
  return (
    kept && {
      method: 'PUT',
      path: filePath(kept),
      body: 'something else',
      headers: { 'content-type': 'application/octet-stream' },
      refusedWith: 409,
      change: () => undefined,
    }
  )
}

const deleteFile: OperationMaker = (model, random) => {
  const kept = random.pick([...model.packageFiles.values()])
  return (
    kept && {
      method: 'DELETE',
      path: `/packages/${kept.owner}/generic/${kept.name}/1`,
      change: (after) => void after.packageFiles.delete(`${kept.owner}/${kept.name}`),
    }
  )
}

/** Package files are served outside of the API's base path. */
export const filePath = ({ owner, name }: Pick<PackageFile, 'owner' | 'name'>): string =>
  `/../packages/${owner}/generic/${name}/1/data`

export const fileMakers: { weight: number; make: OperationMaker }[] = [
  { weight: 5, make: upload },
  { weight: 1, make: uploadAgain },
  { weight: 3, make: deleteFile },
]
