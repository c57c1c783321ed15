/** Quota subjects in words. */
import type { Subject } from '../../quota/subjects.ts'

interface SubjectText {
  readonly name: string
  /** Names of the bytes that count toward the subject. */
  readonly about: string
}

export const subjectTexts: Readonly<Record<Subject, SubjectText>> = {
  'size:all': { name: 'Total', about: 'All bytes of the owner.' },
  'size:repos:all': { name: 'Repositories', about: 'Git data of all repositories, without LFS.' },
  'size:repos:public': { name: 'Public repositories', about: 'Git data of public repositories.' },
  'size:repos:private': { name: 'Private repositories', about: 'Git data of private repositories.' },
  'size:git:all': { name: 'Git data and LFS', about: 'Repositories with their LFS objects.' },
  'size:git:lfs': { name: 'LFS', about: 'Large files that git keeps outside repositories.' },
  'size:assets:all': { name: 'Assets', about: 'Attachments, artifacts and packages.' },
  'size:assets:attachments:all': { name: 'Attachments', about: 'Files on issues, comments and releases.' },
  'size:assets:attachments:issues': { name: 'Attachments of issues', about: 'Files on issues and comments.' },
  'size:assets:attachments:releases': { name: 'Attachments of releases', about: 'Files on releases.' },
  'size:assets:artifacts': { name: 'Artifacts', about: 'What builds keep.' },
  'size:assets:packages:all': { name: 'Packages', about: 'All versions of packages.' },
  'size:wiki': { name: 'Wikis', about: 'Not counted, so a limit has no effect.' },
}

/** The subjects as people choose them: each group begins with the subject that includes the others. */
export const subjectGroups: readonly { readonly name: string; readonly subjects: readonly Subject[] }[] = [
  { name: 'Everything', subjects: ['size:all'] },
  {
    name: 'Git',
    subjects: ['size:git:all', 'size:repos:all', 'size:repos:public', 'size:repos:private', 'size:git:lfs'],
  },
  {
    name: 'Assets',
    subjects: [
      'size:assets:all',
      'size:assets:attachments:all',
      'size:assets:attachments:issues',
      'size:assets:attachments:releases',
      'size:assets:artifacts',
      'size:assets:packages:all',
    ],
  },
  { name: 'Other', subjects: ['size:wiki'] },
]

/** Names the subjects of a rule, such as `Artifacts` or `LFS and Packages`. */
export const subjectsInWords = (subjects: readonly Subject[]): string => {
  const names = [...new Set(subjects)].map((subject) => subjectTexts[subject].name)
  return names.length === 0 ? 'Nothing' : inWords(names)
}

const LIST = new Intl.ListFormat('en')

/** Joins names, such as `one, two, and three`. */
export const inWords = (names: readonly string[]): string => LIST.format(names)
