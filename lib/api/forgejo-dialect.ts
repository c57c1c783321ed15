import * as v from 'valibot'
import type { Route } from '../http/index.ts'
import { Subject, subjects } from '../quota/subjects.ts'

/** Forgejo's name for `size:wiki`. */
const FORGEJO_WIKI = 'size:assets:wiki'

const ForgejoSubject = v.pipe(
  v.picklist([...subjects, FORGEJO_WIKI]),
  v.transform((subject): Subject => (subject === FORGEJO_WIKI ? 'size:wiki' : subject)),
)

interface Parts {
  readonly wrapped?: v.GenericSchema
  readonly item?: v.GenericSchema
  readonly options?: readonly v.GenericSchema[]
  readonly entries?: Record<string, v.GenericSchema>
  readonly pipe?: readonly [v.GenericSchema, ...v.GenericSchema[]]
}

/** The schema with Forgejo's subjects where it has those of the specification. */
const schemaWith = (schema: v.GenericSchema): v.GenericSchema => {
  if ((schema as unknown) === Subject) return ForgejoSubject
  const { wrapped, item, options, entries, pipe } = schema as Parts
  if (pipe !== undefined) {
    const [first, ...rest] = pipe
    return v.pipe(schemaWith(first), ...rest.map(schemaWith))
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

/** A route whose requests may also name subjects as Forgejo does, and with the responses of Forgejo. */
export const inForgejoDialect = <R extends Pick<Route, 'body' | 'query' | 'responses' | 'forgejoResponses'>>(
  route: R,
): R => ({
  ...route,
  ...(route.body && { body: schemaWith(route.body as v.GenericSchema) }),
  ...(route.query && { query: schemaWith(route.query) }),
  responses: { ...route.responses, ...route.forgejoResponses },
})
