import { join } from 'node:path'

/** What keeps files: each area names its files as it likes, and knows what their keeper is a number of. */
export type FileArea = 'lfs' | 'packages' | 'attachments'

/** Where a file lies. */
export interface FilePlace {
  readonly area: FileArea
  /** The repository, or the account, that the file goes with. */
  readonly keeper: number
  /** Of the server's own choosing, never a client's: hexadecimal digits and dashes. */
  readonly name: string
}

const NAME = /^[0-9a-f][0-9a-f-]{3,99}$/

export const isStoredName = (name: string): boolean => NAME.test(name)

/** @throws Error for what no place may be called */
export const checkPlace = ({ keeper, name }: FilePlace): void => {
  if (!isStoredName(name) || !Number.isSafeInteger(keeper)) throw new Error(`no name for a file: ${name}`)
}

/** The folders down to the file, below the directory of all: those of one keeper are in one, and none holds too many. */
export const foldersOf = (place: FilePlace): [string, string, string, string] => {
  checkPlace(place)
  const { area, keeper, name } = place
  return [area, (keeper % 256).toString(16).padStart(2, '0'), String(keeper), name.slice(0, 2)]
}

export const pathOf = (directory: string, place: FilePlace): string =>
  join(directory, ...foldersOf(place), place.name)

/** The place that a path below the directory stands for; undefined when it is none. */
export const placeOf = (path: readonly string[]): FilePlace | undefined => {
  const [area, , keeper, , name] = path as [FileArea, string, string, string, string]
  if (!['lfs', 'packages', 'attachments'].includes(area) || !NAME.test(name)) return undefined
  const place = { area, keeper: Number(keeper), name }
  return foldersOf(place).every((folder, at) => folder === path[at]) ? place : undefined
}
