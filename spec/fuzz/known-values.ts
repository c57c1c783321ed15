import { KNOWN_VALUES } from './populated.ts'

type Json = Record<string, unknown>

/**
 * Adds the values that a populated server knows to the schemas of requests, so that most requests name
 * something that exists. Response schemas stay as they are.
 */
export const withKnownValues = (document: Json): Json => {
  const { paths, ...rest } = structuredClone(document)
  for (const operations of Object.values(paths as Record<string, Record<string, Operation>>))
    for (const { parameters = [], requestBody } of Object.values(operations)) {
      for (const parameter of parameters) parameter.schema = addKnownValues(parameter.schema, parameter.name)
      for (const content of Object.values(requestBody?.content ?? {}))
        content.schema = addKnownValues(content.schema, '')
    }
  return { ...rest, paths }
}

interface Operation {
  parameters?: { name: string; schema: Json }[]
  requestBody?: { content: Record<string, { schema: Json }> }
}

const addKnownValues = (schema: Json, name: string): Json => {
  const { type, properties, items } = schema
  if (type === 'object' && properties !== undefined) {
    const members = Object.entries(properties as Record<string, Json>)
    return {
      ...schema,
      properties: Object.fromEntries(
        members.map(([member, child]) => [member, addKnownValues(child, member)]),
      ),
    }
  }
  if (type === 'array') return { ...schema, items: addKnownValues(items as Json, name) }
  const values = KNOWN_VALUES[name]
  if (values === undefined || 'enum' in schema) return schema
  if (type === 'integer') return { anyOf: [{ enum: values.map(Number) }, schema] }
  return type === 'string' ? { anyOf: [{ enum: values }, schema] } : schema
}
