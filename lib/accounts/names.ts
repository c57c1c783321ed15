import { AllotError, checkArgument, invalid } from '../errors.ts'

/** Account names have 1 to 40 characters, a letter or digit at both ends and no `..`. Names are compared without case. */
const ACCOUNT_NAME = /^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$/
const REPOSITORY_NAME = /^[A-Za-z0-9._-]+$/

/** Endings with another meaning in the path of a repository: git data, wiki, feeds. */
const RESERVED_ENDINGS = /\.(?:git|wiki|rss|atom)$/i

/** Names that are part of paths of the API, of git, or of other servers with this API. */
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

const checkLength = (name: string, limit: number): void => {
  checkArgument(typeof name === 'string', 'name', 'a string', name)
  if (name.length < 1 || name.length > limit) throw invalid(`name: must have 1 to ${limit} characters`)
}

/** Components of ref names that git refuses: empty, with a leading dot, or with the ending `.lock`. */
const BAD_COMPONENT = /(?:^|\/)(?:\.|$|\/)|\.lock(?:\/|$)/

/**
 * Whether `git check-ref-format` accepts `refs/heads/NAME`, and `--branch NAME` too: a leading hyphen is refused, because
 * a command could read the name as an option.
 */
export const isRefName = (name: string): boolean =>
  name.isWellFormed() &&
  name !== 'HEAD' &&
  !name.startsWith('-') &&
  !BAD_COMPONENT.test(name) &&
  // biome-ignore lint/suspicious/noControlCharactersInRegex: git refuses them.
  !/[\u0000-\u0020\u007f~^:?*[\\]|\.\.|@\{|\.$/.test(name)

/** Accepts any file name of one line that is not a path. */
export const checkFileName = (name: string): void => {
  if (name.length < 1 || name.length > 255) throw invalid('name: must have 1 to 255 characters')
  if (!name.isWellFormed() || /[\p{Cc}/\\]/u.test(name) || /^\.{1,2}$/.test(name))
    throw invalid('name: must be a file name without slashes and control characters')
}

export const checkBranchName = (name: string): void => {
  if (!isRefName(name)) throw invalid(`default_branch: ${JSON.stringify(name)} is not a valid branch name`)
}

/** Address that replaces an account's email in git data and in responses for other users, who never see the email itself. */
export const noreplyAddress = (name: string, host: string): string => `${name.toLowerCase()}@noreply.${host}`

export const isName = (name: string): boolean => {
  try {
    checkAccountName(name)
    return true
  } catch {
    return false
  }
}

/** Longest body of an issue, a comment or a release, in UTF-16 code units. */
export const BODY_LIMIT = 128 * 1024

/**
 * Longest texts in UTF-16 code units, by record and member. The API's schemas have the same limits; these also hold for
 * records from an embedding host, the command line and an import.
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

/** Checks the members that are present. @throws AllotError invalid, with the name of the member */
export const checkTexts = <N extends keyof Limits>(record: N, texts: Texts<N>): void => {
  for (const [member, limit] of Object.entries(TEXT_LIMITS[record])) {
    const text = (texts as Readonly<Record<string, string | undefined>>)[member]
    if (text !== undefined && text.length > limit)
      throw invalid(`${member}: must have at most ${limit} characters`)
  }
}

export const checkIssue = (texts: { title?: string | undefined; body?: string | undefined }): void => {
  if (texts.title === '') throw invalid('title: must not be empty')
  checkTexts('issue', texts)
}

export const isEmail = (text: string): boolean => /^[^\s@<>]+@[^\s@<>]+$/.test(text)

/** Accepts an email address or an empty text. @throws AllotError invalid */
export const checkEmail = (email: string): void => {
  if (email !== '' && !isEmail(email)) throw invalid('email: expected an email address')
}

/*
 * Names in the generic registry, as Forgejo accepts them. They are never paths on this server's disk; the rules keep URLs
 * readable and downloads from being written to unexpected places.
 */
const PACKAGE = /^[A-Za-z0-9._+-]{1,255}$/
const PLAIN_NAME = /^[-_+=:;.()[\]{}~!@#$%^& \w]{1,255}$/

const isDots = (name: string): boolean => /^\.+$/.test(name)

export const checkPackageName = (name: string): void => {
  if (!PACKAGE.test(name) || isDots(name) || (name.length === 1 && !/[A-Za-z0-9]/.test(name)))
    throw refused('package', 'letters, digits, and any of ._+-')
}

export const checkVersionName = (name: string): void => checkPlainName('version', name)
export const checkPackageFileName = (name: string): void => checkPlainName('file', name)

const checkPlainName = (part: 'version' | 'file', name: string): void => {
  if (!PLAIN_NAME.test(name) || name.trim() !== name || isDots(name))
    throw refused(part, 'letters, digits, spaces within, and no slash')
}

/** An invalid name of a package, version or file is answered 400. */
const refused = (what: string, allowed: string) =>
  new AllotError('bad_request', `the name of the ${what} must have 1 to 255 characters: ${allowed}`)
