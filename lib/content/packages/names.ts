import { AllotError } from '../../errors.ts'

/*
 * Names of packages of the type `generic`, as Forgejo accepts them. They are never paths on this server's
 * disk; the rules keep URLs readable and downloads from being written to unexpected places.
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
