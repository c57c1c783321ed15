import { invalid } from '../errors.ts'

/** Account names have 1 to 40 characters, a letter or digit at both ends and no `..`. Names are compared without case. */
const ACCOUNT_NAME = /^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$/
const REPOSITORY_NAME = /^[A-Za-z0-9._-]+$/

/** Endings that stand for something else in the path of a repository: its git data, its wiki, its feeds. */
const RESERVED_ENDINGS = /\.(?:git|wiki|rss|atom)$/i

/** Names that stand for something else in a path of the API, of git or of other servers of this kind. */
const RESERVED = new Set(
  `admin api assets attachments avatars captcha debug error explore favicon.ico ghost healthz issues login
   manifest.json metrics milestones notifications org pulls raw readyz repo robots.txt search
   serviceworker.js ssh_info swagger target user username users v2`.split(/\s+/),
)

export const checkAccountName = (name: string): void => {
  checkLength(name, 40)
  if (!ACCOUNT_NAME.test(name) || name.includes('..'))
    throw invalid(
      "name: only letters, digits, '.', '_' and '-' are allowed, a letter or digit at both ends, and no '..'",
    )
  if (RESERVED.has(name.toLowerCase())) throw invalid(`name: ${name} is reserved`)
}

export const checkRepositoryName = (name: string): void => {
  checkLength(name, 100)
  if (!REPOSITORY_NAME.test(name))
    throw invalid("name: only letters, digits, '.', '_' and '-' are allowed in the name of a repository")
  if (name === '.' || name === '..') throw invalid(`name: a repository cannot be named ${name}`)
  if (RESERVED_ENDINGS.test(name))
    throw invalid('name: the name of a repository must not end in .git, .wiki, .rss or .atom')
}

const checkLength = (name: string, longest: number): void => {
  if (name.length < 1 || name.length > longest) throw invalid(`name: must have 1 to ${longest} characters`)
}

/** A component of a ref's name that git refuses: one that is empty, begins with a dot or ends in `.lock`. */
const BAD_COMPONENT = /(?:^|\/)(?:\.|$|\/)|\.lock(?:\/|$)/

/**
 * Whether `git check-ref-format refs/heads/NAME` takes the name, and `--branch` does too: it does not begin with a
 * hyphen, which a command could take for an option.
 */
export const isRefName = (name: string): boolean =>
  name.isWellFormed() &&
  name !== 'HEAD' &&
  !name.startsWith('-') &&
  !BAD_COMPONENT.test(name) &&
  // biome-ignore lint/suspicious/noControlCharactersInRegex: git refuses them.
  !/[\u0000-\u0020\u007f~^:?*[\\]|\.\.|@\{|\.$/.test(name)

/** What people call a file: any words of one line, and no path. */
export const checkFileName = (name: string): void => {
  if (name.length < 1 || name.length > 255) throw invalid('name: must have 1 to 255 characters')
  if (!name.isWellFormed() || /[\p{Cc}/\\]/u.test(name) || /^\.{1,2}$/.test(name))
    throw invalid('name: this is no name for a file')
}

export const checkBranchName = (name: string): void => {
  if (!isRefName(name)) throw invalid(`default_branch: ${JSON.stringify(name)} is not a valid branch name`)
}

/** The address in place of an account's email in git data and in answers for others: the email itself is shown to none of them. */
export const noreplyAddress = (name: string, host: string): string => `${name.toLowerCase()}@noreply.${host}`

export const isName = (name: string): boolean => {
  try {
    checkAccountName(name)
    return true
  } catch {
    return false
  }
}

/** Of a text that people write: an issue, a comment, the notes of a release. */
export const BODY_LIMIT = 128 * 1024

/**
 * Longest texts in UTF-16 code units, by record and member. The API has the same limits in its declarations; these hold for
 * every way that a record comes in: an embedding host, the command line, an import.
 */
export const TEXT_LIMITS = {
  account: { fullName: 100, email: 254, website: 255, description: 255, location: 50 },
  repository: { description: 2048, website: 1024, defaultBranch: 100 },
  issue: { title: 255, body: BODY_LIMIT },
  comment: { body: BODY_LIMIT },
  release: { tag: 255, target: 255, name: 255, body: BODY_LIMIT },
  sshKey: { title: 255, key: 16 * 1024 },
} as const

type Limits = typeof TEXT_LIMITS
type Texts<N extends keyof Limits> = { readonly [Member in keyof Limits[N]]?: string | undefined }

/** Members that are absent are not checked. @throws AllotError invalid naming the member. */
export const checkTexts = <N extends keyof Limits>(record: N, given: Texts<N>): void => {
  for (const [member, limit] of Object.entries(TEXT_LIMITS[record])) {
    const text = (given as Readonly<Record<string, string | undefined>>)[member]
    if (text !== undefined && text.length > limit)
      throw invalid(`${member}: must have at most ${limit} characters`)
  }
}

export const checkIssue = (given: { title?: string | undefined; body?: string | undefined }): void => {
  if (given.title === '') throw invalid('title: must not be empty')
  checkTexts('issue', given)
}

/** @throws AllotError invalid for a text that is not empty and not an email address. */
export const checkEmail = (email: string): void => {
  if (!/^$|^[^\s@<>]+@[^\s@<>]+$/.test(email)) throw invalid('email: expected an email address')
}
