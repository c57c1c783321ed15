/**
 * Faults of objects, as git-fsck names them, that the histories of large old projects have: programs other
 * than git wrote them, and every git reads them. A history cannot be mended without new ids.
 */
const OLD_FAULTS = [
  'badEmail',
  'badName',
  'badTimezone',
  'missingEmail',
  'missingNameBeforeEmail',
  'missingSpaceBeforeDate',
  'missingSpaceBeforeEmail',
  'zeroPaddedFilemode',
]

/** Settings that make git refuse malformed objects of a push (`receive`) or of a migration (`fetch`). */
export const checkedObjects = (section: 'receive' | 'fetch'): string[] => [
  `${section}.fsckObjects=true`,
  ...OLD_FAULTS.map((fault) => `${section}.fsck.${fault}=warn`),
]
