import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { withProgressBar } from '../../../bin/terminal.ts'
import { fill, INSTANCE, type Shape } from './filled.ts'

/** A tenth of {@link INSTANCE}, unless the whole is asked for. */
export const scaled = (scale: number): Shape => ({
  people: Math.round(INSTANCE.people * scale),
  repos: Math.round(INSTANCE.repos * scale),
  entries: Math.round(INSTANCE.entries * scale),
  stars: Math.round(INSTANCE.stars * scale),
})

/** Words that few and that many repositories have in their names. */
export const WORDS = [
  ...['ratomi', 'kel', 'sunvor', 'gu', 'ra', 'rarara', 'r', '77', '4242', 'lan', 'denden', 'zzz'],
  'tokelra-',
]

/**
 * How large the filled instances are, and where they are kept between runs: the largest takes minutes to
 * make.
 */
export interface Instances {
  /** 1 for a hundred thousand users, a million repositories and ten million ledger entries. */
  readonly scale: number
  readonly folder: string
}

/** @returns the folder of a store of that shape, which is filled unless an earlier run has done so */
export const filledStore = async (instances: string, shape: Shape): Promise<string> => {
  const folder = join(instances, `instance-${shape.repos}`)
  const mark = join(folder, 'filled')
  try {
    readFileSync(mark)
  } catch {
    rmSync(folder, { recursive: true, force: true })
    mkdirSync(folder, { recursive: true })
    await withProgressBar('filling an instance', (onProgress) =>
      fill(join(folder, 'store'), shape, (done, total) => onProgress({ done, total })),
    )
    writeFileSync(mark, '')
  }
  return join(folder, 'store')
}
