import { lacks } from '../support/requirements.mjs'

export const hasGitLfs = (): boolean => lacks('git-lfs') === false
