import * as v from 'valibot'
import { noEntrySizes, type OwnerUsage } from '../records/schema/index.ts'

/** Bytes that an owner uses, by kind. */
export type Usage = Omit<OwnerUsage, 'owner' | 'day' | 'entries' | 'earlierDays'>

export const noUsage: Usage = { reposPublic: 0, reposPrivate: 0, ...noEntrySizes }

/** Names of the kinds, in the order in which people see them. */
export const kindNames: Readonly<Record<keyof Usage, string>> = {
  reposPublic: 'Public repositories',
  reposPrivate: 'Private repositories',
  lfs: 'LFS',
  issues: 'Attachments of issues',
  releases: 'Attachments of releases',
  artifacts: 'Artifacts',
  packages: 'Packages',
}

interface Definition {
  /** The subject that includes this one: a rule on the parent covers this subject too. */
  parent?: Subject
  used: (usage: Usage) => number
}

/** The subjects, as clients and rules name them. */
export const subjects = [
  'size:all',
  'size:repos:all',
  'size:repos:public',
  'size:repos:private',
  'size:git:all',
  'size:git:lfs',
  'size:assets:all',
  'size:assets:attachments:all',
  'size:assets:attachments:issues',
  'size:assets:attachments:releases',
  'size:assets:artifacts',
  'size:assets:packages:all',
  'size:wiki',
] as const
export const Subject = v.picklist(subjects)
/** A category of bytes that rules can limit, such as `size:all` or `size:assets:artifacts`. */
export type Subject = (typeof subjects)[number]

const repos = (usage: Usage) => usage.reposPublic + usage.reposPrivate
const git = (usage: Usage) => repos(usage) + usage.lfs
const attachments = (usage: Usage) => usage.issues + usage.releases
const assets = (usage: Usage) => attachments(usage) + usage.artifacts + usage.packages

const definitions: Record<Subject, Definition> = {
  'size:all': { used: (usage) => git(usage) + assets(usage) },
  'size:git:all': { parent: 'size:all', used: git },
  'size:repos:all': { parent: 'size:git:all', used: repos },
  'size:repos:public': { parent: 'size:repos:all', used: (usage) => usage.reposPublic },
  'size:repos:private': { parent: 'size:repos:all', used: (usage) => usage.reposPrivate },
  'size:git:lfs': { parent: 'size:git:all', used: (usage) => usage.lfs },
  'size:assets:all': { parent: 'size:all', used: assets },
  'size:assets:attachments:all': { parent: 'size:assets:all', used: attachments },
  'size:assets:attachments:issues': { parent: 'size:assets:attachments:all', used: (usage) => usage.issues },
  'size:assets:attachments:releases': {
    parent: 'size:assets:attachments:all',
    used: (usage) => usage.releases,
  },
  'size:assets:artifacts': { parent: 'size:assets:all', used: (usage) => usage.artifacts },
  'size:assets:packages:all': { parent: 'size:assets:all', used: (usage) => usage.packages },
  // Allot has no wikis: clients know the subject, and it is always within quota.
  'size:wiki': { used: () => 0 },
}

/** The narrowest subject of each kind of usage. */
export const subjectOf: Readonly<Record<keyof Usage, Subject>> = {
  reposPublic: 'size:repos:public',
  reposPrivate: 'size:repos:private',
  lfs: 'size:git:lfs',
  issues: 'size:assets:attachments:issues',
  releases: 'size:assets:attachments:releases',
  artifacts: 'size:assets:artifacts',
  packages: 'size:assets:packages:all',
}

export const isSubject = (value: unknown): value is Subject =>
  typeof value === 'string' && Object.hasOwn(definitions, value)

/** Bytes that count toward one subject. */
export const usedBy = (subject: Subject, usage: Usage): number => definitions[subject].used(usage)

/** The subject itself, then every subject that includes it, nearest first. */
export const withAncestors = (subject: Subject): readonly Subject[] => ancestors.get(subject)!

const climb = (subject: Subject): Subject[] => {
  const { parent } = definitions[subject]
  return parent === undefined ? [subject] : [subject, ...climb(parent)]
}
const ancestors = new Map(subjects.map((subject) => [subject, climb(subject)]))
