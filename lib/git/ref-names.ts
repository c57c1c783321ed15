import { invalid } from '../errors.ts'

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

export const checkBranchName = (name: string): void => {
  if (!isRefName(name)) throw invalid(`default_branch: ${JSON.stringify(name)} is not a valid branch name`)
}
