import { type Recording, recordingsOf } from './recordings.ts'

/** A rule in the note of a recording. */
export interface NotedRule {
  limit: number
  subjects: string[]
}

/** The subject that is directly above another; rules on it cover that one as well. */
const PARENTS: Record<string, string> = {
  'size:git:all': 'size:all',
  'size:repos:all': 'size:git:all',
  'size:repos:public': 'size:repos:all',
  'size:repos:private': 'size:repos:all',
  'size:git:lfs': 'size:git:all',
  'size:assets:all': 'size:all',
  'size:assets:attachments:all': 'size:assets:all',
  'size:assets:attachments:issues': 'size:assets:attachments:all',
  'size:assets:attachments:releases': 'size:assets:attachments:all',
  'size:assets:artifacts': 'size:assets:all',
  'size:assets:packages:all': 'size:assets:all',
  'size:assets:wiki': 'size:assets:all',
}

/** The groups of the owner, with their rules. */
export const notedGroups = (note: string): NotedRule[][] => {
  const exact = /limit = usage\(.*\)([+-]\d), subjects=\[(.*)\]; usage=(\d+)/.exec(note)
  if (exact !== null) return [[{ limit: Number(exact[3]) + Number(exact[1]), subjects: [exact[2]!] }]]
  return JSON.parse(note.replace(/^groups=/, '')) as NotedRule[][]
}

const covers = ({ subjects }: NotedRule, subject: string | undefined): boolean =>
  subject !== undefined && (subjects.includes(subject) || covers({ limit: 0, subjects }, PARENTS[subject]))

const subjectOf = ({ request }: Recording): string => new URLSearchParams(request.query).get('subject') ?? ''

/** The groups of recordings without a note, by the beginning of their ids. */
const CONFIGURED: Record<string, NotedRule[][]> = {
  'ini.total': [[{ limit: 0, subjects: ['size:all'] }]],
  'ini.defgroups.explicit.': [[{ limit: 5, subjects: ['size:assets:all'] }]],
  'ini.defgroups.oneleft': [[{ limit: -1, subjects: ['size:git:all'] }]],
  'ini.defgroups.check': [
    [{ limit: 0, subjects: ['size:all'] }],
    [{ limit: -1, subjects: ['size:git:all'] }],
  ],
}

const groupsOf = ({ id, note }: Recording): NotedRule[][] | undefined => {
  // Allot has neither the subject `none` nor limits beyond 2^53-1.
  if (/^eval\.(none|limit\.-?922337203685477580)/.test(id)) return undefined
  if (id.startsWith('eval.')) return notedGroups(note!)
  return Object.entries(CONFIGURED).find(([begin]) => id.startsWith(begin))?.[1]
}

/**
 * The recordings of the evaluation that answer `false` where Allot answers `true`: the subject is that of
 * wikis, or none of the groups has a rule that covers it.
 */
export const uncovered = (): string[] =>
  recordingsOf('quota-evaluation')
    .filter((recording) => {
      const subject = subjectOf(recording)
      const groups = groupsOf(recording)
      if (groups === undefined || recording.response.body !== false || subject === 'none') return false
      if (subject === 'size:assets:wiki') return true
      return !groups.some((rules) => rules.some((rule) => covers(rule, subject)))
    })
    .map(({ id }) => id)
