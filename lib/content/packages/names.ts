import { AllotError } from '../../errors.ts'
import { PACKAGE_TYPES, type PackageType } from '../../records/schema/index.ts'

/** A version of a package by names. */
export interface PackageName {
  /** Name of the user or the organization. */
  readonly owner: string
  /** Type of the package; `generic` is the only one. */
  readonly type: string
  /** Name of the package. */
  readonly name: string
  /** Name of the version. */
  readonly version: string
}

/** Whether Allot stores packages of the type. */
export const isOfKnownType = <T extends Pick<PackageName, 'type'>>(
  names: T,
): names is T & { readonly type: PackageType } => (PACKAGE_TYPES as readonly string[]).includes(names.type)

/** Path of a file in its registry, such as `/api/packages/alice/generic/tool/1.0.0/tool.tar.gz`. */
export const downloadPath = ({ owner, type, name, version }: PackageName, file: string): string =>
  `/api/packages/${[owner, type, name, version, file].map(encodeURIComponent).join('/')}`

/*
 * Names of packages, as Forgejo accepts them. They are never paths on this server's disk; the rules keep URLs
 * readable and downloads from being written to unexpected places.
 */
const PACKAGE = /^[A-Za-z0-9._+-]{1,255}$/
const PLAIN_NAME = /^[-_+=:;.()[\]{}~!@#$%^& \w]{1,255}$/

/**
 * Checks the names of a new file.
 * @returns the type of its package
 * @throws AllotError not_found for a type that Allot does not store; bad_request for a bad name
 */
export const checkedType = (path: PackageName, file: string): PackageType => {
  if (!isOfKnownType(path))
    throw new AllotError('not_found', `this server stores ${PACKAGE_TYPES.join(', ')} packages only`)
  const { name } = path
  if (!PACKAGE.test(name) || isDots(name) || (name.length === 1 && !/[A-Za-z0-9]/.test(name)))
    throw refused('package', 'letters, digits, and any of ._+-')
  checkPlainName('version', path.version)
  checkPlainName('file', file)
  return path.type
}

const isDots = (name: string): boolean => /^\.+$/.test(name)

const checkPlainName = (part: 'version' | 'file', name: string): void => {
  if (!PLAIN_NAME.test(name) || name.trim() !== name || isDots(name))
    throw refused(part, 'letters, digits, spaces within, and no slash')
}

/** An invalid name of a package, version or file is answered 400. */
const refused = (what: string, allowed: string) =>
  new AllotError('bad_request', `the name of the ${what} must have 1 to 255 characters: ${allowed}`)
