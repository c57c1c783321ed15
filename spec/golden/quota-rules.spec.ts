import { type Recording, recordingsOf } from './recordings.ts'
import { replay } from './replay.ts'
import type { World } from './world.ts'

const recordings = recordingsOf('quota-rules')

/** The names of all rules at the end, in the order of their creation. */
const names = recordings.find(({ id }) => id === 'rules.list.bulk[paging[')!.response.body_keys as string[]

const madeBy = ({ request, response }: Recording): string | undefined => {
  if (request.method !== 'POST' || response.status !== 201) return undefined
  const body = typeof request.body === 'string' ? JSON.parse(request.body) : request.body
  return (body as { name: string }).name
}

const recorded = new Set(recordings.map(madeBy))

/** Rules whose creation is not recorded, and which precede the next recorded one in the list. */
const missing = names.filter((name) => !recorded.has(name) && !name.startsWith('bulk'))

const make = (world: World, name: string) =>
  world.make('root1', 'POST', '/admin/quota/rules', { name, limit: 1, subjects: ['size:all'] })

/** Creates the rules that precede a rule in the list. */
const makeBefore = async (world: World, name: string): Promise<void> => {
  while (missing.length > 0 && names.indexOf(missing[0]!) < names.indexOf(name))
    await makeIfAllowed(world, missing.shift()!)
}

/** Longer names, names with control characters, `.` and `..` are refused. */
const makeIfAllowed = async (world: World, name: string): Promise<void> => {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these characters are refused
  if (name.length <= 255 && !/[\u0000-\u001f]|^\.\.?$/.test(name)) await make(world, name)
}

const SUBJECTS = ['size:git:lfs', 'size:assets:packages:all', 'size:repos:private']
const EVERYTHING = [
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
]

const edit = (world: World, change: object) => world.make('root1', 'PATCH', '/admin/quota/rules/all', change)

replay('quota-rules', {
  requests: {
    'rules.create.multi': { body: { name: 'multi', limit: 5, subjects: SUBJECTS } },
    'rules.create.subjects.all': { body: { name: 'everything', limit: 1, subjects: EVERYTHING } },
    'rules.create.subjects.mixed': {
      body: { name: 'm5', limit: 1, subjects: ['size:all', 'size:nosuch', 'size:git:lfs'] },
    },
  },
  async beforeEach(world, recording) {
    const name = madeBy(recording)
    if (name !== undefined && names.includes(name)) await makeBefore(world, name)
    if (recording.id.startsWith('rules.get.name.')) {
      const read = (recording.response.body as { name: string }).name
      if (missing.includes(read)) await makeBefore(world, names[names.indexOf(read) + 1]!)
    }
  },
  steps: {
    'rules.list': async (world) => {
      await makeBefore(world, 'm3')
      await make(world, 'm3')
    },
    'rules.edit.both.after': (world) => edit(world, { limit: 7, subjects: ['size:all'] }),
    'rules.edit.name.limit.after': (world) => edit(world, { limit: 8 }),
    'rules.edit.neg5.after': (world) => edit(world, { limit: -5 }),
    'rules.edit.wiki.after': (world) => edit(world, { subjects: ['size:all', 'size:all'] }),
    'rules.edit.case.after': (world) => world.make('root1', 'PATCH', '/admin/quota/rules/ALL', { limit: 5 }),
    'rules.list.bulk[paging[': async (world) => {
      for (const name of names) if (name.startsWith('bulk')) await make(world, name)
    },
  },
})
