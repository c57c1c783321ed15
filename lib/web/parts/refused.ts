/** Marks the field that a form was refused for. */

/**
 * Whether a form was refused for a field: the message of the failure begins with the name of the field, or says that something
 * with this name exists.
 */
export const isRefused = (name: string, failure: string | undefined): boolean =>
  failure?.startsWith(`${name}: `) === true ||
  failure?.startsWith(`${name} `) === true ||
  (name === 'name' && failure !== undefined && /^an? \w+ named .* already exists$/s.test(failure))

/**
 * Marks the field that a form was refused for.
 * @param name the name by which the message calls the field
 * @param hint id of the hint of the field
 */
export const invalidAttributes = (name: string, failure: string | undefined, hint?: string) => {
  const isInvalid = isRefused(name, failure)
  const describedBy = [isInvalid && 'failure', hint].filter(Boolean).join(' ') || undefined
  return { 'aria-invalid': isInvalid || undefined, 'aria-describedby': describedBy }
}
