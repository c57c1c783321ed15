import { AllotError } from '../errors.ts'

/*
 * What may be called what in the generic registry, as Forgejo has it. Names are never paths on the disk; these keep them
 * readable in URLs, and downloads from being written where nobody wants them.
 */
const PACKAGE = /^[A-Za-z0-9._+-]{1,255}$/
const FILE = /^[-_+=:;.()[\]{}~!@#$%^& \w]{1,255}$/

const isDots = (name: string): boolean => /^\.+$/.test(name)

export const checkPackageName = (name: string): void => {
  if (!PACKAGE.test(name) || isDots(name) || (name.length === 1 && !/[A-Za-z0-9]/.test(name)))
    throw refused('package', 'letters, digits, and any of ._+-')
}

export const checkVersionName = (version: string): void => {
  if (!isPlain(version)) throw refused('version', 'letters, digits, spaces within, and no slash')
}

export const checkFileName = (name: string): void => {
  if (!isPlain(name)) throw refused('file', 'letters, digits, spaces within, and no slash')
}

const isPlain = (name: string): boolean => FILE.test(name) && name.trim() === name && !isDots(name)

/** "400: the package name, version or file name are invalid" */
const refused = (what: string, allowed: string) =>
  new AllotError('bad_request', `the name of the ${what} must have 1 to 255 characters: ${allowed}`)
