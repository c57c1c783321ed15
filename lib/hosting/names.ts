import { invalid } from '../errors.ts'

/**
 * Names are 1 to 40 of `A-Z a-z 0-9 . _ -`, begin and end with a letter or digit, hold no `..` and are compared without
 * case; repository names go up to 100 and do not end in `.git`.
 */
const PATTERN = /^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$/

/** Words that stand for something else in a path of this API, or of the pages around it. */
const RESERVED = new Set(
  `admin api assets attachments avatars captcha commits debug error explore favicon.ico ghost healthz issues login logout
   manifest.json metrics milestones new notifications org orgs packages pulls raw readyz repo repos robots.txt search
   serviceworker.js settings ssh_info stars swagger target template user username users v1 v2`.split(/\s+/),
)

export const checkAccountName = (name: string): void => {
  checkName('name', name, 40)
  if (RESERVED.has(name.toLowerCase())) throw invalid(`name: ${name} is reserved`)
}

export const checkRepositoryName = (name: string): void => {
  checkName('name', name, 100)
  if (/\.(?:git|wiki)$/i.test(name)) throw invalid('name: a repository name must not end in .git or .wiki')
}

/** What `git check-ref-format` takes, and a little less: nothing that a command could take for an option. */
export const isRefName = (name: string): boolean =>
  /^[A-Za-z0-9_][\w./+#-]*$/.test(name) && !/\.\.|\/\/|\/\.|\.lock(?:\/|$)|[./]$/.test(name)

/** What people call a file: any words of one line, and no path. */
export const checkFileName = (name: string): void => {
  if (name.length < 1 || name.length > 255) throw invalid('name: must have 1 to 255 characters')
  if (!name.isWellFormed() || /[\p{Cc}/\\]/u.test(name) || /^\.{1,2}$/.test(name))
    throw invalid('name: this is no name for a file')
}

export const checkBranchName = (name: string): void => {
  if (!isRefName(name)) throw invalid('default_branch: this is no name for a branch')
}

const checkName = (member: string, name: string, longest: number): void => {
  if (name.length < 1 || name.length > longest)
    throw invalid(`${member}: must have 1 to ${longest} characters`)
  if (!PATTERN.test(name) || name.includes('..'))
    throw invalid(
      `${member}: only letters, digits, '.', '_' and '-' are allowed, a letter or digit at both ends, and no '..'`,
    )
}

export const isName = (name: string): boolean => {
  try {
    checkAccountName(name)
    return true
  } catch {
    return false
  }
}
