import { AllotError } from '../../errors.ts'
import { PACKAGE_TYPES, type PackageType } from '../../records/schema/index.ts'
import { checkPackageFileName, checkPackageName, checkVersionName } from './names.ts'

/** A version of a package by names. */
export interface PackageName {
  /** Name of the user or the organization. */
  readonly owner: string
  /** Type of the package, such as `generic`. */
  readonly type: string
  /** Name of the package. */
  readonly name: string
  /** Name of the version. */
  readonly version: string
}

/**
 * The differences between the types of packages, besides the routes of their registries
 * (lib/api/content/registries.ts).
 */
interface TypeRules {
  /** @throws AllotError bad_request for a name that packages of the type cannot have */
  checkNames(path: PackageName, file: string): void
  /**
   * Where clients download a file, here and at a server that `allot migrate` copies from: names in a path
   * below `/api/packages`.
   */
  downloadNames(path: PackageName, file: string): readonly string[]
  /** How clients upload. Shown on the page of an owner that has no packages. */
  upload(owner: string): string
}

const RULES: Readonly<Record<PackageType, TypeRules>> = {
  generic: {
    checkNames({ name, version }, file) {
      checkPackageName(name)
      checkVersionName(version)
      checkPackageFileName(file)
    },
    downloadNames: ({ owner, type, name, version }, file) => [owner, type, name, version, file],
    upload: (owner) => `PUT /api/packages/${owner}/generic/…`,
  },
}

/** Names of a package of a type that Allot stores. */
interface OfKnownType {
  readonly type: PackageType
}

/** Whether Allot stores packages of the type. */
export const isOfKnownType = <T extends Pick<PackageName, 'type'>>(names: T): names is T & OfKnownType =>
  Object.hasOwn(RULES, names.type)

/**
 * Checks the names of a new file.
 * @returns the type of its package
 * @throws AllotError not_found for a type that Allot does not store; bad_request for a bad name
 */
export const checkedType = (path: PackageName, file: string): PackageType => {
  if (!isOfKnownType(path))
    throw new AllotError('not_found', `this server stores ${PACKAGE_TYPES.join(', ')} packages only`)
  RULES[path.type].checkNames(path, file)
  return path.type
}

/** Path of a file in its registry, such as `/api/packages/alice/generic/tool/1.0.0/tool.tar.gz`. */
export const downloadPath = (path: PackageName & OfKnownType, file: string): string =>
  `/api/packages/${RULES[path.type].downloadNames(path, file).map(encodeURIComponent).join('/')}`

/** How clients upload a package of each type, such as `PUT /api/packages/alice/generic/…`. */
export const uploadsOf = (owner: string): string[] => PACKAGE_TYPES.map((type) => RULES[type].upload(owner))
