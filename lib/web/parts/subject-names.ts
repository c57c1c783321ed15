/** Quota subjects in words. */
import type { Subject } from '../../quota/subjects.ts'

/** The groups from which people choose subjects. */
const GROUPS = ['Everything', 'Git', 'Assets', 'Other'] as const

interface SubjectText {
  readonly group: (typeof GROUPS)[number]
  readonly name: string
  /** Names of the bytes that count toward the subject. */
  readonly about: string
}

/** In each group, the subject that includes the others comes first. */
export const subjectTexts: Readonly<Record<Subject, SubjectText>> = {
  'size:all': { group: 'Everything', name: 'Total', about: 'All bytes of the owner.' },
  'size:git:all': { group: 'Git', name: 'Git data and LFS', about: 'Repositories with their LFS objects.' },
  'size:repos:all': {
    group: 'Git',
    name: 'Repositories',
    about: 'Git data of all repositories, without LFS.',
  },
  'size:repos:public': {
    group: 'Git',
    name: 'Public repositories',
    about: 'Git data of public repositories.',
  },
  'size:repos:private': {
    group: 'Git',
    name: 'Private repositories',
    about: 'Git data of private repositories.',
  },
  'size:git:lfs': { group: 'Git', name: 'LFS', about: 'Large files that git keeps outside repositories.' },
  'size:assets:all': { group: 'Assets', name: 'Assets', about: 'Attachments, artifacts and packages.' },
  'size:assets:attachments:all': {
    group: 'Assets',
    name: 'Attachments',
    about: 'Files on issues, comments and releases.',
  },
  'size:assets:attachments:issues': {
    group: 'Assets',
    name: 'Attachments of issues',
    about: 'Files on issues and comments.',
  },
  'size:assets:attachments:releases': {
    group: 'Assets',
    name: 'Attachments of releases',
    about: 'Files on releases.',
  },
  'size:assets:artifacts': { group: 'Assets', name: 'Artifacts', about: 'What builds keep.' },
  'size:assets:packages:all': { group: 'Assets', name: 'Packages', about: 'All versions of packages.' },
  'size:wiki': { group: 'Other', name: 'Wikis', about: 'Not counted, so a limit has no effect.' },
}

/** The subjects as people choose them. */
export const subjectGroups: readonly { readonly name: string; readonly subjects: readonly Subject[] }[] =
  GROUPS.map((name) => ({
    name,
    subjects: (Object.keys(subjectTexts) as Subject[]).filter(
      (subject) => subjectTexts[subject].group === name,
    ),
  }))

/** Names the subjects of a rule, such as `Artifacts` or `LFS and Packages`. */
export const subjectsInWords = (subjects: readonly Subject[]): string => {
  const names = subjects.map((subject) => subjectTexts[subject].name)
  return names.length === 0 ? 'Nothing' : inWords(names)
}

const LIST = new Intl.ListFormat('en')

/** Joins names, such as `one, two, and three`. */
export const inWords = (names: readonly string[]): string => LIST.format(names)
