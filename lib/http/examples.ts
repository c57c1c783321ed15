import * as v from 'valibot'

/** Members of valibot schemas that their common type does not have. */
interface SchemaMembers {
  readonly type: string
  readonly entries: Record<string, v.GenericSchema>
  readonly item: v.GenericSchema
  readonly wrapped: v.GenericSchema
  readonly options: readonly unknown[]
  readonly literal: unknown
}

/**
 * Composes the example of a schema, which the OpenAPI document shows, from the examples (`v.examples`) of its
 * members. Without an example of their own, optional members appear when they are objects or lists, and
 * nullable members are null.
 * @returns undefined for text or a number without an example; a spec finds it
 */
export const exampleOf = (schema: v.GenericSchema): unknown => {
  const own = ownExampleOf(schema)
  if (own !== undefined) return own
  const { type, entries, item, wrapped, options, literal } = schema as unknown as SchemaMembers
  switch (type) {
    case 'object':
    case 'loose_object':
      return Object.fromEntries(
        Object.entries(entries)
          .map(([name, member]) => [name, exampleOf(member)])
          .filter(([, example]) => example !== undefined),
      )
    case 'array':
      return item.type === 'never' ? [] : [exampleOf(item)]
    case 'optional':
      return (
        ownExampleOf(wrapped) ?? (/^(?:object|array)$/.test(wrapped.type) ? exampleOf(wrapped) : undefined)
      )
    case 'nullable':
      return ownExampleOf(wrapped) ?? null
    case 'picklist':
      return options[0]
    case 'union':
      return exampleOf(options[0] as v.GenericSchema)
    case 'literal':
      return literal
    case 'boolean':
      return false
    case 'null':
      return null
    default:
      return undefined
  }
}

const ownExampleOf = (schema: v.GenericSchema): unknown => (v.getExamples(schema) as readonly unknown[])[0]
