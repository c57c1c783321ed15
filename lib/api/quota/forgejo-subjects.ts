import * as v from 'valibot'
import { Subject, subjects } from '../../quota/subjects.ts'
import type { Services } from '../route.ts'

/** Forgejo's name for `size:wiki`. */
const FORGEJO_WIKI = 'size:assets:wiki'

const ForgejoSubject = v.pipe(
  v.picklist([...subjects, FORGEJO_WIKI]),
  v.transform((subject): Subject => (subject === FORGEJO_WIKI ? 'size:wiki' : subject)),
)

/** The subjects that a request may name. */
export const subjectsOf = (dialect: Services['dialect']) => (dialect === 'forgejo' ? ForgejoSubject : Subject)

interface Parts {
  readonly wrapped?: v.GenericSchema
  readonly item?: v.GenericSchema
  readonly options?: readonly v.GenericSchema[]
  readonly entries?: Record<string, v.GenericSchema>
  readonly pipe?: [v.GenericSchema, ...v.GenericPipeItem[]]
}

/** The schema with Forgejo's subjects where it has those of the specification. */
const schemaWith = (schema: v.GenericSchema): v.GenericSchema => {
  if ((schema as unknown) === Subject) return ForgejoSubject
  const { wrapped, item, options, entries, pipe } = schema as Parts
  if (pipe !== undefined) {
    const [first, ...rest] = pipe
    const changed = schemaWith(first)
    return changed === first ? schema : v.pipe(changed, ...rest)
  }
  const parts = {
    ...(wrapped && { wrapped: schemaWith(wrapped) }),
    ...(item && { item: schemaWith(item) }),
    ...(schema.type === 'union' && options && { options: options.map(schemaWith) }),
    ...(entries && {
      entries: Object.fromEntries(
        Object.entries(entries).map(([name, member]) => [name, schemaWith(member)]),
      ),
    }),
  }
  return Object.keys(parts).length === 0 ? schema : { ...schema, ...parts }
}

/** A route whose requests may name subjects as Forgejo does, too. */
export const withForgejoSubjects = <R extends { readonly body?: unknown; readonly query?: unknown }>(
  route: R,
): R => ({
  ...route,
  ...(route.body === undefined ? {} : { body: schemaWith(route.body as v.GenericSchema) }),
  ...(route.query === undefined ? {} : { query: schemaWith(route.query as v.GenericSchema) }),
})
