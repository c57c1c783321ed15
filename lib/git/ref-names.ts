import { invalidMember } from '../errors.ts'

/** Components of ref names that git refuses: empty, with a leading dot, or with the ending `.lock`. */
const BAD_COMPONENT = /(?:^|\/)(?:\.|$|\/)|\.lock(?:\/|$)/

/**
 * Whether `git check-ref-format --branch` accepts the name: a leading hyphen is refused, because a command
 * could read the name as an option.
 */
export const isRefName = (name: string): boolean =>
  name !== 'HEAD' && !name.startsWith('-') && canBePushed(name)

/** Whether `git check-ref-format` accepts `refs/heads/NAME`, so that a push can have made the reference. */
export const canBePushed = (name: string): boolean =>
  name.isWellFormed() &&
  !BAD_COMPONENT.test(name) &&
  // biome-ignore lint/suspicious/noControlCharactersInRegex: git refuses them.
  !/[\u0000-\u0020\u007f~^:?*[\\]|\.\.|@\{|\.$/.test(name)

export const checkBranchName = (name: string): void => {
  if (!isRefName(name))
    throw invalidMember('default_branch', `${JSON.stringify(name)} is not a valid branch name`)
}
