const patterns = new Map<string, RegExp>()

/** Whether a text matches a pattern in which `*` stands for any text. */
export const matches = (pattern: string, text: string): boolean => {
  let expression = patterns.get(pattern)
  if (expression === undefined) {
    const parts = pattern.split('*').map((part) => part.replace(/[\\^$.|?+()[\]{}]/g, '\\$&'))
    expression = new RegExp(`^${parts.join('[^]*')}$`)
    patterns.set(pattern, expression)
  }
  return expression.test(text)
}
