import * as v from 'valibot'

/**
 * Schema of an object whose member names come from outside. Invariant: every own member is kept, whatever its name, in an
 * object without a prototype; `v.record` drops `constructor`, `prototype` and `__proto__` in silence.
 */
export const recordOf = <S extends v.GenericSchema>(
  value: S,
): v.RecordSchema<v.StringSchema<undefined>, S, undefined> => {
  const record = v.record(v.string(), value)
  return {
    ...record,
    '~run'(dataset, config) {
      const input = dataset.value as Record<string, unknown>
      if (typeof input !== 'object' || input === null) return record['~run'](dataset, config)
      const output: Record<string, v.InferOutput<S>> = Object.create(null)
      const issues: v.BaseIssue<unknown>[] = []
      for (const [key, member] of Object.entries(input)) {
        const result = value['~run']({ value: member }, config)
        const item: v.ObjectPathItem = { type: 'object', origin: 'value', input, key, value: member }
        for (const issue of result.issues ?? [])
          issues.push({ ...issue, path: [item, ...(issue.path ?? [])] } as v.BaseIssue<unknown>)
        if (result.typed) output[key] = result.value as v.InferOutput<S>
      }
      const outcome = { value: output, ...(issues.length === 0 ? { typed: true } : { typed: false, issues }) }
      return outcome as ReturnType<(typeof record)['~run']>
    },
  }
}
