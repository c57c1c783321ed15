import { execFileSync } from 'node:child_process'
import { describe } from 'node:test'

export const hasGitLfs = (): boolean => {
  try {
    execFileSync('git', ['lfs', 'version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/** Specs with the real `git lfs`, which are skipped where it is not installed. */
export const describeWithLfs = (name: string, work: () => void): void => {
  const is = process.env.CI === 'true' || hasGitLfs()
  if (!is) console.log(`# ${name}: skipped, for git lfs is not installed (apt-get install git-lfs)`)
  describe(name, { skip: is ? false : 'git lfs is not installed' }, work)
}
